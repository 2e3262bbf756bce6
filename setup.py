"""The packages, which lie in two folders; all else about the distribution is in setup.cfg."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["keras_attn*"]), *find_packages("pipelines")],
    package_dir={"keras_attn_pipelines": "pipelines/keras_attn_pipelines"},
)
