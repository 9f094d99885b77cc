"""The fields of the API's resources: name, type, bounds, description, and who gets them.

Each resource is a WSME type, as in Blazar's own controllers for v2. The JSON Schemas of bodies and
answers, the OpenAPI document, the views, the types of the Python client and the columns and options
of the commands are made from these types. The server and the clients both import this package, so
it imports nothing else of warre_blazar but ``texts``, and of other packages only WSME.
"""
