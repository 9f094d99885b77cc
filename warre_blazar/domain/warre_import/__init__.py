"""Decides for each row of a Warre database whether and how an import takes it.

``rows`` reads the values of a row; ``flavors`` and ``reservations`` decide. The decisions are pure
functions of the row and of Blazar's rows for the same reservation. Times are in naive UTC.
"""
