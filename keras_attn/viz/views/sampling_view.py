"""The points of a picture that were read, and the crop that came out."""

from dataclasses import dataclass

import numpy as np

from keras_attn.viz.page_parts import data_url, picture_part
from keras_attn.viz.quantity import POINTS
from keras_attn.viz.views.view import View

LINES = 9
"""Lines in each direction of a grid that is drawn over a picture."""


@dataclass(frozen=True)
class SamplingView(View):
    """The points of a picture that a spatial transformer reads, and the crop it makes of them.

    Attributes:
        name: of the view.
        picture: uint8 (height, width, 3).
        grid: float array (rows, columns, 2), x and y of each pixel of the crop, edges at −1 and 1.
        crop: uint8 (rows, columns, 3).
        label: which view it is of, such as "view 1 of 3"; "" for the only one.
    """

    quantity = POINTS
    name: str
    picture: np.ndarray
    grid: np.ndarray
    crop: np.ndarray
    label: str = ""

    def figure(self, title=""):
        """The picture with the points that were read, beside the crop."""
        from keras_attn.viz.sampling import sampling_figure

        title = ", ".join(filter(None, (title, self.label)))
        return sampling_figure(self.picture[None], self.grid[None], self.crop[None], title=title)

    def parts(self):
        from PIL import Image

        rows, columns = (
            np.linspace(0, size - 1, LINES).round().astype(int) for size in self.grid.shape[:2]
        )
        points = self.grid[np.ix_(rows, columns)]
        return [
            {
                "type": "sampling",
                "name": self.name,
                **picture_part(self.picture),
                "label": self.label,
                "meaning": self.quantity.meaning,
                "points": np.round(points.astype("float64"), 3).tolist(),
                "crop": data_url(Image.fromarray(self.crop), "PNG"),
            }
        ]
