CREATE INDEX ix_warre_leases_status ON leases (status);

CREATE INDEX ix_warre_leases_time ON leases (end_date, start_date, status);

CREATE INDEX ix_warre_leases_usage ON leases (project_id, status, start_date, end_date);

CREATE INDEX ix_warre_leases_user ON leases (user_id, start_date);

CREATE TABLE warre_audits (
    id INTEGER NOT NULL,
    finished_at DATETIME NOT NULL,
    report MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE warre_backings (
    reservation_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    aggregate_id INTEGER,
    phase VARCHAR(8) NOT NULL,
    late_until DATETIME,
    created_at DATETIME NOT NULL,
    nova_flavor VARCHAR(36) NOT NULL,
    made_confined BOOL NOT NULL DEFAULT false,
    told JSON,
    guests JSON,
    shown BOOL NOT NULL DEFAULT false,
    PRIMARY KEY (reservation_id)
);

CREATE INDEX ix_warre_backings_flavor ON warre_backings (nova_flavor);

CREATE TABLE warre_calendars (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    user_id VARCHAR(255) NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_warre_calendars UNIQUE (user_id, project_id)
);

CREATE TABLE warre_channels (
    name VARCHAR(64) NOT NULL,
    billing BOOL NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE warre_confined_projects (
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (project_id)
);

CREATE TABLE warre_deliveries (
    id BIGINT NOT NULL AUTO_INCREMENT,
    channel VARCHAR(64) NOT NULL,
    entry_id BIGINT NOT NULL,
    subject VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    at DATETIME NOT NULL,
    attempts INTEGER NOT NULL,
    next_at DATETIME,
    given_up_at DATETIME,
    error TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (id)
);

CREATE INDEX ix_warre_deliveries_channel ON warre_deliveries (channel, given_up_at, id);

CREATE INDEX ix_warre_deliveries_entry ON warre_deliveries (entry_id);

CREATE INDEX ix_warre_deliveries_subject ON warre_deliveries (channel, subject, id);

CREATE TABLE warre_flavors (
    id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    description TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    vcpu INTEGER NOT NULL,
    memory_mb INTEGER NOT NULL,
    disk_gb INTEGER NOT NULL,
    ephemeral_gb INTEGER NOT NULL,
    extra_specs JSON NOT NULL,
    device_groups JSON,
    properties TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    availability_zone VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    slots INTEGER NOT NULL,
    max_length_hours INTEGER NOT NULL,
    start_date DATETIME,
    end_date DATETIME,
    category VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    max_days_ahead INTEGER,
    notice_hours INTEGER NOT NULL DEFAULT '0',
    weekly_hours VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    extend_within_hours INTEGER,
    max_instances_per_project INTEGER,
    gap_hours INTEGER,
    idle_warn_hours INTEGER,
    idle_end_hours INTEGER,
    is_public BOOL NOT NULL,
    active BOOL NOT NULL,
    before_end VARCHAR(16),
    before_end_choice BOOL NOT NULL DEFAULT false,
    show_in_nova BOOL NOT NULL DEFAULT false,
    shown_in_nova VARCHAR(64),
    generation INTEGER NOT NULL,
    deleted VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_warre_flavors_name ON warre_flavors (name);

CREATE TABLE warre_idempotency_keys (
    id VARCHAR(64) NOT NULL,
    request VARCHAR(64) NOT NULL,
    item_id VARCHAR(36) NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_warre_idempotency_keys_created ON warre_idempotency_keys (created_at);

CREATE TABLE warre_imported (
    kind VARCHAR(16) NOT NULL,
    id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    `before` TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    after VARCHAR(64),
    PRIMARY KEY (kind, id)
);

CREATE TABLE warre_log (
    id BIGINT NOT NULL AUTO_INCREMENT,
    subject VARCHAR(36) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    at DATETIME NOT NULL,
    user_id VARCHAR(255),
    project_id VARCHAR(255),
    `before` TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    after TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    is_logged BOOL NOT NULL,
    telling VARCHAR(8),
    content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (id)
);

CREATE INDEX ix_warre_log_at ON warre_log (at);

CREATE INDEX ix_warre_log_subject ON warre_log (subject, id);

CREATE INDEX ix_warre_log_telling ON warre_log (telling, id);

CREATE TABLE warre_managers (
    id VARCHAR(36) NOT NULL,
    host VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    heartbeat DATETIME NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE warre_message_counts (
    channel VARCHAR(64) NOT NULL,
    address VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    hour DATETIME NOT NULL,
    sent INTEGER NOT NULL,
    PRIMARY KEY (channel, address, hour)
);

CREATE TABLE warre_message_settings (
    user_id VARCHAR(255) NOT NULL,
    enabled BOOL NOT NULL,
    PRIMARY KEY (user_id)
);

CREATE TABLE warre_projects (
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (project_id)
);

CREATE TABLE warre_refusal_counts (
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    day DATE NOT NULL,
    code VARCHAR(64) NOT NULL,
    number INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    PRIMARY KEY (project_id, day, code)
);

CREATE INDEX ix_warre_refusal_counts_day ON warre_refusal_counts (day);

CREATE TABLE warre_refusals (
    id BIGINT NOT NULL AUTO_INCREMENT,
    at DATETIME NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    user_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    code VARCHAR(64) NOT NULL,
    flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    reservation_id VARCHAR(36),
    instance_count INTEGER NOT NULL,
    start_date DATETIME NOT NULL,
    end_date DATETIME NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_warre_refusals_at ON warre_refusals (at);

CREATE INDEX ix_warre_refusals_project ON warre_refusals (project_id, at);

CREATE TABLE warre_secrets (
    name VARCHAR(64) NOT NULL,
    value VARCHAR(64) NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE warre_snapshots (
    reservation_id VARCHAR(36) NOT NULL,
    server_id VARCHAR(36) NOT NULL,
    number INTEGER NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    server_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    status VARCHAR(16) NOT NULL,
    at DATETIME NOT NULL,
    image_id VARCHAR(36),
    error TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    attempts INTEGER NOT NULL,
    next_at DATETIME,
    told BOOL NOT NULL,
    PRIMARY KEY (reservation_id, server_id, number)
);

CREATE INDEX ix_warre_snapshots_next ON warre_snapshots (next_at);

CREATE INDEX ix_warre_snapshots_told ON warre_snapshots (told, status);

CREATE TABLE warre_stopped_addresses (
    address VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    stopped_at DATETIME NOT NULL,
    PRIMARY KEY (address)
);

CREATE TABLE warre_tallies (
    id BIGINT NOT NULL AUTO_INCREMENT,
    name VARCHAR(32) NOT NULL,
    label VARCHAR(64) NOT NULL,
    count BIGINT NOT NULL,
    total DOUBLE NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE warre_turns (
    name VARCHAR(64) NOT NULL,
    manager_id VARCHAR(36) NOT NULL,
    taken_at DATETIME NOT NULL,
    done_until DATETIME,
    PRIMARY KEY (name)
);

CREATE TABLE warre_usage (
    reservation_id VARCHAR(36) NOT NULL,
    day DATE NOT NULL,
    used_seconds BIGINT NOT NULL,
    used_at DATETIME NOT NULL,
    PRIMARY KEY (reservation_id, day)
);

CREATE TABLE warre_waits (
    number BIGINT NOT NULL AUTO_INCREMENT,
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    user_id VARCHAR(255) NOT NULL,
    flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    category VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    instance_count INTEGER NOT NULL,
    minutes INTEGER NOT NULL,
    earliest DATETIME NOT NULL,
    latest DATETIME NOT NULL,
    mode VARCHAR(8) NOT NULL,
    affinity BOOL,
    before_end VARCHAR(16),
    name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    note TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    contact VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    timezone VARCHAR(64),
    webhook TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    created_at DATETIME NOT NULL,
    expires_at DATETIME NOT NULL,
    state VARCHAR(16) NOT NULL,
    status_reason TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    found_flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    start_date DATETIME,
    end_date DATETIME,
    reservation_id VARCHAR(36),
    ended_at DATETIME,
    ended_by VARCHAR(255),
    kept_until DATETIME,
    PRIMARY KEY (number),
    UNIQUE (id)
);

CREATE INDEX ix_warre_waits_project ON warre_waits (project_id, state);

CREATE INDEX ix_warre_waits_state ON warre_waits (state, ended_at);

CREATE TABLE warre_windows (
    id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    start_date DATETIME NOT NULL,
    end_date DATETIME NOT NULL,
    note TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_warre_events_status ON events (status, time);

CREATE INDEX ix_warre_reservations_lease ON reservations (lease_id, resource_type);

CREATE TABLE warre_executions (
    lease_id {leases} NOT NULL,
    action VARCHAR(16) NOT NULL,
    manager_id VARCHAR(36),
    attempts INTEGER NOT NULL,
    PRIMARY KEY (lease_id),
    FOREIGN KEY(lease_id) REFERENCES leases (id) ON DELETE CASCADE
);

CREATE TABLE warre_flavor_projects (
    id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_warre_flavor_projects0flavor_id0project_id UNIQUE (flavor_id, project_id),
    FOREIGN KEY(flavor_id) REFERENCES warre_flavors (id) ON DELETE CASCADE
);

CREATE TABLE warre_host_providers (
    host_id {computehosts} NOT NULL,
    digest VARCHAR(64) NOT NULL,
    tree MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    aggregates MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    zone VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    read_at DATETIME NOT NULL,
    PRIMARY KEY (host_id),
    FOREIGN KEY(host_id) REFERENCES computehosts (id) ON DELETE CASCADE
);

CREATE TABLE warre_hosts (
    host_id {computehosts} NOT NULL,
    generation INTEGER NOT NULL,
    draining BOOL NOT NULL DEFAULT false,
    drained_by VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    drained_at DATETIME,
    drain_reason TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    abandoned BOOL NOT NULL DEFAULT false,
    missing_since DATETIME,
    gone BOOL NOT NULL DEFAULT false,
    PRIMARY KEY (host_id),
    FOREIGN KEY(host_id) REFERENCES computehosts (id) ON DELETE CASCADE
);

CREATE TABLE warre_lease_workers (
    lease_id {leases} NOT NULL,
    manager_id VARCHAR(36),
    work_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (lease_id),
    FOREIGN KEY(lease_id) REFERENCES leases (id) ON DELETE CASCADE
);

CREATE TABLE warre_series (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    user_id VARCHAR(255) NOT NULL,
    flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    instance_count INTEGER NOT NULL,
    affinity BOOL,
    name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    note TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    contact VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    webhook TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    before_end VARCHAR(16),
    handle VARCHAR(64),
    visible_before_start BOOL NOT NULL DEFAULT false,
    start_date DATETIME NOT NULL,
    timezone VARCHAR(64) NOT NULL,
    rrule VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    exdates TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    minutes INTEGER NOT NULL,
    all_or_none BOOL NOT NULL,
    generation INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL,
    work_id VARCHAR(36) NOT NULL,
    ends_running BOOL NOT NULL,
    ended_at DATETIME,
    ended_by VARCHAR(255),
    touched_at DATETIME NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(flavor_id) REFERENCES warre_flavors (id)
);

CREATE INDEX ix_warre_series_project ON warre_series (project_id, created_at);

CREATE INDEX ix_warre_series_status ON warre_series (status);

CREATE TABLE warre_shares (
    id VARCHAR(36) NOT NULL,
    reservation_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_warre_shares UNIQUE (reservation_id, project_id),
    FOREIGN KEY(reservation_id) REFERENCES warre_backings (reservation_id) ON DELETE CASCADE
);

CREATE INDEX ix_warre_shares_project ON warre_shares (project_id);

CREATE TABLE warre_window_flavors (
    window_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (window_id, flavor_id),
    FOREIGN KEY(window_id) REFERENCES warre_windows (id) ON DELETE CASCADE,
    FOREIGN KEY(flavor_id) REFERENCES warre_flavors (id) ON DELETE CASCADE
);

CREATE TABLE warre_window_hosts (
    window_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    host_id {computehosts} NOT NULL,
    PRIMARY KEY (window_id, host_id),
    FOREIGN KEY(window_id) REFERENCES warre_windows (id) ON DELETE CASCADE,
    FOREIGN KEY(host_id) REFERENCES computehosts (id) ON DELETE CASCADE
);

CREATE INDEX ix_warre_allocations_reservation ON computehost_allocations (reservation_id, compute_host_id);

CREATE TABLE warre_reservations (
    id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    live_id {reservations},
    reservation_id VARCHAR(36),
    lease_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    project_id VARCHAR(255),
    user_id VARCHAR(255),
    flavor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    instance_count INTEGER NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    note TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    contact VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    timezone VARCHAR(64),
    webhook TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    before_end VARCHAR(16),
    series_id VARCHAR(36),
    series_work VARCHAR(36),
    movable_hours INTEGER NOT NULL DEFAULT '0',
    handle VARCHAR(64),
    visible_before_start BOOL NOT NULL DEFAULT false,
    shape TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    claim_start DATETIME,
    claim_end DATETIME,
    promised_at DATETIME,
    status_reason TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    created_at DATETIME NOT NULL,
    counted_until DATETIME,
    looked_at DATETIME,
    idle_from DATETIME,
    idle_warned_at DATETIME,
    look_error TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    start_date DATETIME,
    end_date DATETIME,
    status VARCHAR(16),
    affinity BOOL,
    compute_flavor VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    sent_flavor VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    deleted_at DATETIME,
    deleted_by VARCHAR(255),
    PRIMARY KEY (id),
    UNIQUE (live_id),
    FOREIGN KEY(live_id) REFERENCES reservations (id) ON DELETE CASCADE,
    UNIQUE (reservation_id),
    FOREIGN KEY(flavor_id) REFERENCES warre_flavors (id)
);

CREATE INDEX ix_warre_reservations_claim ON warre_reservations (claim_end, claim_start);

CREATE INDEX ix_warre_reservations_end ON warre_reservations (deleted_at, end_date);

CREATE INDEX ix_warre_reservations_flavor ON warre_reservations (flavor_id, live_id);

CREATE INDEX ix_warre_reservations_name ON warre_reservations (name);

CREATE INDEX ix_warre_reservations_of_lease ON warre_reservations (lease_id);

CREATE INDEX ix_warre_reservations_project ON warre_reservations (project_id, start_date);

CREATE INDEX ix_warre_reservations_series ON warre_reservations (series_id);

CREATE INDEX ix_warre_reservations_user ON warre_reservations (user_id, start_date);

CREATE TABLE warre_series_occurrences (
    series_id VARCHAR(36) NOT NULL,
    start_date DATETIME NOT NULL,
    end_date DATETIME NOT NULL,
    work_id VARCHAR(36) NOT NULL,
    reservation_id VARCHAR(36),
    refusal TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (series_id, start_date),
    FOREIGN KEY(series_id) REFERENCES warre_series (id) ON DELETE CASCADE
);

CREATE TABLE warre_assignments (
    allocation_id {computehost_allocations} NOT NULL,
    provider_id VARCHAR(36) NOT NULL,
    resource_class VARCHAR(255) NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (allocation_id, provider_id, resource_class),
    FOREIGN KEY(allocation_id) REFERENCES computehost_allocations (id) ON DELETE CASCADE
);
