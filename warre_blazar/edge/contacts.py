"""Says which contacts the configuration allows."""

from oslo_config import cfg

from warre_blazar import conf
from warre_blazar.domain.labels import Labels
from warre_blazar.errors import exceptions

conf.register(cfg.CONF)


def checked(labels: Labels) -> Labels:
    """Check whether messages may go to the contact among some labels, and return the labels.

    :raises InvalidField: the contact is in a domain that the configuration doesn't allow.
    """
    domains = [domain.lower() for domain in cfg.CONF.warre_messages.contact_domains]
    if labels.contact is not None and domains:
        domain = labels.contact.rpartition("@")[2].lower()
        if domain not in domains:
            shown = ", ".join(f"@{name}" for name in domains)
            raise exceptions.InvalidField("contact", f"expected an address that ends with {shown}")
    return labels
