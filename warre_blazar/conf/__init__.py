"""This package's options in blazar.conf, with one module for each group."""

from oslo_config import cfg

from warre_blazar.conf import enforcement, messages, warre


def register(conf: cfg.ConfigOpts) -> None:
    """Register all options of this package."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """All options by group, for oslo-config-generator."""
    return [(module.GROUP, module.OPTS) for module in (warre, messages, enforcement)]
