"""The first minute: photographs, and a captioner trained on drawn scenes."""
