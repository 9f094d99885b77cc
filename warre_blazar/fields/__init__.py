"""The fields of the API's resources: name, type, bounds, description, and who gets them.

The JSON Schemas of bodies and answers, the OpenAPI document, the views, the types of the Python
client and the columns and options of the commands are made from these declarations. The server and
the clients both import this package. So it imports nothing but ``texts`` and Python's standard
library, which is all that a machine with only the client has.
"""
