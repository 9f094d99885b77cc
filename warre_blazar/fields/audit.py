"""The fields of what an audit has found."""

from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.kinds import BOOLEAN, VALUE, or_null


class AuditFindingFields(Resource):
    """A difference between the tables, Nova, Placement and Keystone that an audit has found."""

    kind = Field(VALUE, "The kind of difference, a stable word for programs.", Use.READ_ONLY)
    subject = Field(VALUE, "The id of what the difference is about.", Use.READ_ONLY)
    text = Field(VALUE, "The difference, for people.", Use.READ_ONLY)
    meaning = Field(VALUE, "What such a difference means.", Use.READ_ONLY)
    remedy = Field(VALUE, "What mends it.", Use.READ_ONLY)
    needs = Field(
        VALUE,
        "What is needed to mend it: options of `warre-blazar-manage audit`, or `a person`.",
        Use.READ_ONLY,
    )
    failure = Field(or_null(VALUE), "Why it couldn't be mended when that was tried.", Use.READ_ONLY)
    mended = Field(BOOLEAN, "Whether the audit has mended it.", Use.READ_ONLY)
