"""Tests of the installed package: python -m unittest discover -s tests -t ."""
