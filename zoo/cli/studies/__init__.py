"""What `zoo study` is made of: the file, its runs, what is kept of them, the table."""
