"""Data work at scale, on Spark: tables in, tables out.

PySpark is imported only inside the functions that need it, or in modules that a command imports when it is called: a
`trellis --help` does not pay for it.
"""
