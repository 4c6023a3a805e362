"""Downloads: the files of published data sets."""
