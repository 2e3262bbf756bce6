"""Convolutional networks from pictures to grids of features, for captioners and classifiers."""
