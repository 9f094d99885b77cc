"""What is expected of a flavor's extra specs, of its devices, and of the aliases of devices.

The sentences about one extra spec, alias or device profile have codes of their own. They stand
within the errors ``invalid_field``, ``device_not_countable`` and ``misconfigured``.
"""

from warre_blazar.texts.entries import FIELD, Entry

_KEY = "{key}: {clause}"


def _spec(reason: str, template: str) -> Entry:
    """A sentence about one extra spec, which begins with the spec's key."""
    return Entry("extra_spec", template, reason)


#: The error about an extra spec.
NOT_VALID = Entry("invalid_field", "{spec:said}", "extra_spec", frame=FIELD)
NOT_BOOTABLE = Entry(
    "invalid_field",
    "expected extra specs with which a server can boot; {refusals:each}",
    "not_bootable",
    frame=FIELD,
)
FEWER_DEVICES = Entry(
    "invalid_field",
    "expected at most {most:number} devices, with short traits",
    "fewer_devices",
    frame=FIELD,
)

DEVICES_SHARED = Entry(
    "invalid_field",
    "expected no other amounts or traits of the devices from which the flavor {flavor} takes "
    "{classes:names}, because its servers may need them; in both flavors, ask for the devices in "
    "groups with suffixes, such as resources1:CLASS, so that Nova knows which devices servers have",
    "devices_shared",
    frame=FIELD,
)

# Keys and values
RESOURCES = _spec("resources", "{key}: expected resources:CLASS=N with N a whole number")
TRAIT = _spec("trait", "{key}: expected trait:NAME with required or forbidden")
KEY = _spec("key", "{key!r}: expected letters, digits, spaces and _ - : . in a key")
ONE_OF = _spec("one_of", "{key}: expected one of {known:names}")
NO_COMMAS = _spec(
    "no_commas",
    "{key}: expected no commas, and no spaces at the ends, because Nova's "
    "AggregateInstanceExtraSpecsFilter never accepts such a value of a key without a colon",
)
BESIDE = _spec("beside", "{key}: expected {wanted} beside it")
NONE_BESIDE = _spec("none_beside", "{key}: expected no {unwanted} beside it")
TPM_VERSION = _spec("tpm_version", "hw:tpm_model: expected hw:tpm_version=2.0 beside tpm-crb")
GROUP_POLICY = _spec(
    "group_policy",
    "group_policy: expected none or isolate, because there is more than one group of resources "
    "({groups:names})",
)

# CPUs
NO_CPUS_BESIDE = _spec(
    "no_cpus_beside", "hw:cpu_policy: expected no resources:VCPU and no resources:PCPU beside it"
)
PCPUS = _spec("pcpus", "resources:PCPU: expected {wanted:number}, for {cpus:number} CPUs")
CPU_POLICY = _spec("cpu_policy", "{key}: expected hw:cpu_policy=dedicated or mixed")
CPU_POLICY_MIXED = _spec("cpu_policy_mixed", "{key}: expected hw:cpu_policy=mixed")
SOME_CPUS = _spec("some_cpus", "{key}: expected some of the CPUs, but not all")
MASK_BESIDE_MIXED = _spec(
    "mask_beside_mixed",
    "hw:cpu_policy: expected, beside mixed, either hw:cpu_dedicated_mask or hw:cpu_realtime=yes "
    "with hw:cpu_realtime_mask",
)
CPU_MASK = _spec("cpu_mask", "{key}: expected CPUs such as 0-3,^2 or ^0-1")
CPUS_BELOW = _spec(
    "cpus_below", "{key}: expected CPUs below {cpus:number}, which is how many an instance has"
)

# Devices
ALIASES = _spec("aliases", "{key}: expected NAME:NUMBER, and commas between several")
ALIAS_NUMBER = _spec("alias_number", "{key}: expected at least 1 device of each alias")
ALIAS_DEVICES = _spec("alias_devices", "{key}: expected at most {most:number} devices")


def _profile(reason: str, template: str) -> Entry:
    """What is expected of a device profile of Cyborg's."""
    return Entry("device_profile", template, reason)


PROFILE_GROUPS = _profile("groups", "expected groups, a list that isn't empty")
PROFILE_FEWER = _profile("fewer_groups", "expected at most {most:number} groups")
PROFILE_OBJECT = _profile("object", "expected each group to be an object")
PROFILE_RESOURCES = _profile("resources", "{key}: expected resources:CLASS with a whole number")
PROFILE_TRAIT = _profile("trait", "{key}: expected trait:NAME with required or forbidden")
PROFILE_CLASS = _profile("class", "expected resources:CLASS in each group")


def _device(reason: str, template: str) -> Entry:
    return Entry(
        "device_not_countable",
        template,
        reason,
        frame="extra_specs: the devices of {key} {name} can't be counted: {clause}",
    )


NO_ALIAS = _device(
    "no_alias",
    "[warre] pci_alias has no line for {alias}; copy the line of [pci] alias in nova.conf",
)
NO_CAPABILITY = _device(
    "no_capability",
    "no host has the capability {capability}; set it to the number of such devices on each host "
    "that has some, or set [warre] pci_in_placement if Nova counts them in Placement",
)
NO_CYBORG = _device(
    "no_cyborg", "Keystone's catalog has no Cyborg, without which Nova can't boot such servers"
)
NO_PROFILE = _device("no_profile", "Cyborg has no such device profile; create it there")
OTHER_PROFILE = _device(
    "other_profile", "Cyborg's device profile isn't one of Nova's: {profile:said}"
)
NEVER_RESOLVED = _device(
    "never_resolved",
    "the import didn't resolve them; run warre-blazar-manage flavor recount, then make the flavor "
    "active",
)


def _alias(reason: str, template: str) -> Entry:
    """What is expected of the option ``[warre] pci_alias``."""
    return Entry("pci_alias", template, reason)


ALIAS_JSON = _alias("json", "{line!r}: expected JSON")
ALIAS_SCHEMA = _alias("schema", "{line!r}: {said}")
ALIAS_ONE_LINE = _alias(
    "one_line",
    "{alias}: expected one line for each alias, because Nova refuses several while it counts PCI "
    "devices in Placement; give the devices one resource_class instead",
)
ALIAS_SAME = _alias("same", "{alias}: expected the same {key} in all lines of one alias")
ALIAS_CLASS = _alias("class", "{alias}: expected a resource_class, or a vendor_id and a product_id")
ALIAS_BOOLEAN = _alias("boolean", "{alias}: {said}")
ALIAS_NAME = _alias("name", "{alias}: {name!r} can't be a resource class or trait")
