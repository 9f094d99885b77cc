CREATE TABLE `alembic_version` (
  `version_num` varchar(32) NOT NULL,
  PRIMARY KEY (`version_num`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `computehost_allocations` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `compute_host_id` varchar(36) DEFAULT NULL,
  `reservation_id` varchar(36) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `compute_host_id` (`compute_host_id`),
  KEY `ix_warre_allocations_reservation` (`reservation_id`,`compute_host_id`),
  CONSTRAINT `computehost_allocations_ibfk_1` FOREIGN KEY (`compute_host_id`) REFERENCES `computehosts` (`id`),
  CONSTRAINT `computehost_allocations_ibfk_2` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `computehost_extra_capabilities` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `computehost_id` varchar(36) DEFAULT NULL,
  `capability_value` mediumtext NOT NULL,
  `property_id` varchar(255) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `computehost_id` (`computehost_id`),
  KEY `computehost_resource_property_id_fk` (`property_id`),
  CONSTRAINT `computehost_extra_capabilities_ibfk_1` FOREIGN KEY (`computehost_id`) REFERENCES `computehosts` (`id`),
  CONSTRAINT `computehost_resource_property_id_fk` FOREIGN KEY (`property_id`) REFERENCES `resource_properties` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `computehost_reservations` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `reservation_id` varchar(36) DEFAULT NULL,
  `resource_properties` mediumtext DEFAULT NULL,
  `count_range` varchar(36) DEFAULT NULL,
  `hypervisor_properties` mediumtext DEFAULT NULL,
  `aggregate_id` int(11) DEFAULT NULL,
  `before_end` varchar(36) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `reservation_id` (`reservation_id`),
  CONSTRAINT `computehost_reservations_ibfk_1` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `computehost_resource_inventory` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `computehost_id` varchar(36) DEFAULT NULL,
  `resource_class` varchar(255) NOT NULL,
  `total` int(11) NOT NULL,
  `reserved` int(11) NOT NULL,
  `min_unit` int(11) NOT NULL,
  `max_unit` int(11) NOT NULL,
  `step_size` int(11) NOT NULL,
  `allocation_ratio` float NOT NULL,
  PRIMARY KEY (`id`),
  KEY `computehost_id` (`computehost_id`),
  CONSTRAINT `computehost_resource_inventory_ibfk_1` FOREIGN KEY (`computehost_id`) REFERENCES `computehosts` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `computehost_trait` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `computehost_id` varchar(36) DEFAULT NULL,
  `trait` varchar(255) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `computehost_id` (`computehost_id`),
  CONSTRAINT `computehost_trait_ibfk_1` FOREIGN KEY (`computehost_id`) REFERENCES `computehosts` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `computehosts` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `vcpus` int(11) NOT NULL,
  `cpu_info` mediumtext NOT NULL,
  `hypervisor_type` mediumtext NOT NULL,
  `hypervisor_version` int(11) NOT NULL,
  `hypervisor_hostname` varchar(255) DEFAULT NULL,
  `memory_mb` int(11) NOT NULL,
  `local_gb` int(11) NOT NULL,
  `status` varchar(13) DEFAULT NULL,
  `service_name` varchar(255) DEFAULT NULL,
  `trust_id` varchar(36) NOT NULL,
  `reservable` tinyint(1) NOT NULL DEFAULT 1,
  `availability_zone` varchar(255) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `events` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `lease_id` varchar(36) DEFAULT NULL,
  `event_type` varchar(66) DEFAULT NULL,
  `time` datetime DEFAULT NULL,
  `status` varchar(13) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `lease_id` (`lease_id`),
  KEY `ix_warre_events_status` (`status`,`time`),
  CONSTRAINT `events_ibfk_1` FOREIGN KEY (`lease_id`) REFERENCES `leases` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `floatingip_allocations` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `floatingip_id` varchar(36) DEFAULT NULL,
  `reservation_id` varchar(36) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `floatingip_id` (`floatingip_id`),
  KEY `reservation_id` (`reservation_id`),
  CONSTRAINT `floatingip_allocations_ibfk_1` FOREIGN KEY (`floatingip_id`) REFERENCES `floatingips` (`id`),
  CONSTRAINT `floatingip_allocations_ibfk_2` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `floatingip_reservations` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `reservation_id` varchar(36) DEFAULT NULL,
  `network_id` varchar(255) NOT NULL,
  `amount` int(11) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `reservation_id` (`reservation_id`),
  CONSTRAINT `floatingip_reservations_ibfk_1` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `floatingips` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `floating_network_id` varchar(255) NOT NULL,
  `subnet_id` varchar(255) NOT NULL,
  `floating_ip_address` varchar(255) NOT NULL,
  `reservable` tinyint(1) NOT NULL DEFAULT 1,
  PRIMARY KEY (`id`),
  UNIQUE KEY `subnet_id` (`subnet_id`,`floating_ip_address`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `instance_reservations` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `reservation_id` varchar(36) DEFAULT NULL,
  `vcpus` int(11) NOT NULL,
  `memory_mb` int(11) NOT NULL,
  `disk_gb` int(11) NOT NULL,
  `amount` int(11) NOT NULL,
  `affinity` tinyint(1) DEFAULT NULL,
  `flavor_id` varchar(36) DEFAULT NULL,
  `aggregate_id` int(11) DEFAULT NULL,
  `server_group_id` varchar(36) DEFAULT NULL,
  `resource_properties` mediumtext DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `reservation_id` (`reservation_id`),
  CONSTRAINT `instance_reservations_ibfk_1` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `leases` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `name` varchar(80) NOT NULL,
  `user_id` varchar(255) DEFAULT NULL,
  `project_id` varchar(255) DEFAULT NULL,
  `start_date` datetime NOT NULL,
  `end_date` datetime NOT NULL,
  `trust_id` varchar(36) DEFAULT NULL,
  `status` varchar(255) DEFAULT NULL,
  `degraded` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  KEY `ix_warre_leases_usage` (`project_id`,`status`,`start_date`,`end_date`),
  KEY `ix_warre_leases_time` (`end_date`,`start_date`,`status`),
  KEY `ix_warre_leases_user` (`user_id`,`start_date`),
  KEY `ix_warre_leases_status` (`status`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `required_floatingips` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `address` varchar(255) NOT NULL,
  `floatingip_reservation_id` varchar(36) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `floatingip_reservation_id` (`floatingip_reservation_id`),
  CONSTRAINT `required_floatingips_ibfk_1` FOREIGN KEY (`floatingip_reservation_id`) REFERENCES `floatingip_reservations` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `reservations` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` varchar(36) NOT NULL,
  `lease_id` varchar(36) NOT NULL,
  `resource_id` varchar(36) DEFAULT NULL,
  `resource_type` varchar(66) DEFAULT NULL,
  `status` varchar(13) DEFAULT NULL,
  `missing_resources` tinyint(1) NOT NULL DEFAULT 0,
  `resources_changed` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  KEY `ix_warre_reservations_lease` (`lease_id`,`resource_type`),
  CONSTRAINT `reservations_ibfk_1` FOREIGN KEY (`lease_id`) REFERENCES `leases` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `resource_properties` (
  `id` varchar(36) NOT NULL,
  `resource_type` varchar(255) NOT NULL,
  `property_name` varchar(255) NOT NULL,
  `private` tinyint(1) NOT NULL DEFAULT 0,
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `resource_type` (`resource_type`,`property_name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_alembic_version` (
  `version_num` varchar(32) NOT NULL,
  PRIMARY KEY (`version_num`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_backings` (
  `reservation_id` varchar(36) NOT NULL,
  `project_id` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `aggregate_id` int(11) DEFAULT NULL,
  `phase` varchar(8) NOT NULL,
  `late_until` datetime DEFAULT NULL,
  `created_at` datetime NOT NULL,
  `nova_flavor` varchar(36) DEFAULT NULL,
  PRIMARY KEY (`reservation_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_executions` (
  `lease_id` varchar(36) NOT NULL,
  `action` varchar(16) NOT NULL,
  `manager_id` varchar(36) DEFAULT NULL,
  `attempts` int(11) NOT NULL,
  PRIMARY KEY (`lease_id`),
  CONSTRAINT `warre_executions_ibfk_1` FOREIGN KEY (`lease_id`) REFERENCES `leases` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_flavor_projects` (
  `id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `flavor_id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `project_id` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_warre_flavor_projects0flavor_id0project_id` (`flavor_id`,`project_id`),
  CONSTRAINT `warre_flavor_projects_ibfk_1` FOREIGN KEY (`flavor_id`) REFERENCES `warre_flavors` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_flavors` (
  `id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `name` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `description` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `vcpu` int(11) NOT NULL,
  `memory_mb` int(11) NOT NULL,
  `disk_gb` int(11) NOT NULL,
  `ephemeral_gb` int(11) NOT NULL,
  `extra_specs` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL CHECK (json_valid(`extra_specs`)),
  `device_groups` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(`device_groups`)),
  `properties` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `availability_zone` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `slots` int(11) NOT NULL,
  `max_length_hours` int(11) NOT NULL,
  `start_date` datetime DEFAULT NULL,
  `end_date` datetime DEFAULT NULL,
  `category` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `is_public` tinyint(1) NOT NULL,
  `active` tinyint(1) NOT NULL,
  `generation` int(11) NOT NULL,
  `deleted` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_warre_flavors_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_history` (
  `id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `reservation_id` varchar(36) DEFAULT NULL,
  `lease_id` varchar(64) DEFAULT NULL,
  `flavor_id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `instance_count` int(11) NOT NULL,
  `affinity` tinyint(1) DEFAULT NULL,
  `name` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `note` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `shape` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `start_date` datetime NOT NULL,
  `end_date` datetime NOT NULL,
  `project_id` varchar(255) DEFAULT NULL,
  `user_id` varchar(255) DEFAULT NULL,
  `status` varchar(16) NOT NULL,
  `status_reason` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `compute_flavor` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `created_at` datetime NOT NULL,
  `deleted_at` datetime DEFAULT NULL,
  `deleted_by` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `flavor_id` (`flavor_id`),
  KEY `ix_warre_history_project` (`project_id`,`start_date`),
  KEY `ix_warre_history_end` (`end_date`),
  CONSTRAINT `warre_history_ibfk_1` FOREIGN KEY (`flavor_id`) REFERENCES `warre_flavors` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_host_providers` (
  `host_id` varchar(36) NOT NULL,
  `digest` varchar(64) NOT NULL,
  `tree` mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `zone` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `read_at` datetime NOT NULL,
  PRIMARY KEY (`host_id`),
  CONSTRAINT `warre_host_providers_ibfk_1` FOREIGN KEY (`host_id`) REFERENCES `computehosts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_hosts` (
  `host_id` varchar(36) NOT NULL,
  `generation` int(11) NOT NULL,
  `draining` tinyint(1) NOT NULL DEFAULT 0,
  `abandoned` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`host_id`),
  CONSTRAINT `warre_hosts_ibfk_1` FOREIGN KEY (`host_id`) REFERENCES `computehosts` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_imported` (
  `kind` varchar(16) NOT NULL,
  `id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `before` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `after` varchar(64) DEFAULT NULL,
  PRIMARY KEY (`kind`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_lease_workers` (
  `lease_id` varchar(36) NOT NULL,
  `manager_id` varchar(36) DEFAULT NULL,
  `work_id` varchar(36) NOT NULL,
  PRIMARY KEY (`lease_id`),
  CONSTRAINT `warre_lease_workers_ibfk_1` FOREIGN KEY (`lease_id`) REFERENCES `leases` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_managers` (
  `id` varchar(36) NOT NULL,
  `host` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `heartbeat` datetime NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_projects` (
  `project_id` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `generation` int(11) NOT NULL,
  PRIMARY KEY (`project_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_reservations` (
  `id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `reservation_id` varchar(36) NOT NULL,
  `flavor_id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `instance_count` int(11) NOT NULL,
  `name` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `note` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `shape` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `claim_start` datetime DEFAULT NULL,
  `claim_end` datetime DEFAULT NULL,
  `promised_at` datetime DEFAULT NULL,
  `status_reason` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `reservation_id` (`reservation_id`),
  KEY `flavor_id` (`flavor_id`),
  KEY `ix_warre_reservations_name` (`name`),
  KEY `ix_warre_reservations_claim` (`claim_end`,`claim_start`),
  CONSTRAINT `warre_reservations_ibfk_1` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE,
  CONSTRAINT `warre_reservations_ibfk_2` FOREIGN KEY (`flavor_id`) REFERENCES `warre_flavors` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_window_flavors` (
  `window_id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `flavor_id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`window_id`,`flavor_id`),
  KEY `flavor_id` (`flavor_id`),
  CONSTRAINT `warre_window_flavors_ibfk_1` FOREIGN KEY (`window_id`) REFERENCES `warre_windows` (`id`) ON DELETE CASCADE,
  CONSTRAINT `warre_window_flavors_ibfk_2` FOREIGN KEY (`flavor_id`) REFERENCES `warre_flavors` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
CREATE TABLE `warre_windows` (
  `id` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `start_date` datetime NOT NULL,
  `end_date` datetime NOT NULL,
  `note` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci;
INSERT INTO `alembic_version` VALUES ('553383923ca0');
INSERT INTO `computehost_allocations` VALUES ('2026-11-23 22:32:36', NULL, 'a0d1052e-0204-4c5c-8028-5a9f41c3d0b5', '1', '4a1f0824-4934-4d9a-8d75-b61b5db6b554');
INSERT INTO `computehost_allocations` VALUES ('2026-11-23 22:32:36', NULL, 'dd990b30-4efe-45dc-89a9-220b334a000f', '1', '4a1f0824-4934-4d9a-8d75-b61b5db6b554');
INSERT INTO `computehost_allocations` VALUES ('2026-11-23 22:32:36', NULL, 'f5fdcaed-bc9a-4b93-bae6-6b0046f38821', '1', '71e48cc4-a7a0-449c-add9-70716c63123d');
INSERT INTO `computehost_resource_inventory` VALUES ('2026-11-23 22:32:36', NULL, '1a14de0d-939b-4154-87d9-543b8dba3e87', '1', 'DISK_GB', 1000, 0, 1, 1000, 1, 1.0e0);
INSERT INTO `computehost_resource_inventory` VALUES ('2026-11-23 22:32:36', NULL, '4b3a0e2c-0c32-41aa-af62-8b7f7e2dd66d', '2', 'DISK_GB', 1000, 0, 1, 1000, 1, 1.0e0);
INSERT INTO `computehost_resource_inventory` VALUES ('2026-11-23 22:32:36', NULL, '597d0ac3-f656-4d65-89d7-91b81e1ddea7', '1', 'MEMORY_MB', 65536, 0, 1, 65536, 1, 1.0e0);
INSERT INTO `computehost_resource_inventory` VALUES ('2026-11-23 22:32:36', NULL, '907238ff-84af-4f43-b2ee-945473e16cd6', '2', 'VCPU', 16, 0, 1, 16, 1, 1.0e0);
INSERT INTO `computehost_resource_inventory` VALUES ('2026-11-23 22:32:36', NULL, 'a26997c9-a29c-4861-9422-1aee2f25e05b', '1', 'VCPU', 16, 0, 1, 16, 1, 1.0e0);
INSERT INTO `computehost_resource_inventory` VALUES ('2026-11-23 22:32:36', NULL, 'b4d4cff3-4d7c-42c8-b670-4fa6bacad623', '2', 'MEMORY_MB', 65536, 0, 1, 65536, 1, 1.0e0);
INSERT INTO `computehosts` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', '1', 16, '', 'QEMU', 1, 'a', 65536, 1000, 'up', 'a', 'trust', 1, 'nova');
INSERT INTO `computehosts` VALUES ('2026-11-23 22:32:36', NULL, '2', 16, '', 'QEMU', 1, 'b', 65536, 1000, 'up', 'b', 'trust', 1, 'nova');
INSERT INTO `events` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', '7418ef2e-cca3-48fe-879b-5143c5179538', '3219d52a-d1b8-4e65-bb96-a95b86cecdff', 'start_lease', '2100-01-01 01:00:00', 'DONE');
INSERT INTO `events` VALUES ('2026-11-23 22:32:36', NULL, 'b461389c-b8ed-441b-bf36-5b73f3a3e62d', 'ae2cc8f2-0a9f-4e21-9de5-55bd2b555801', 'end_lease', '2100-01-01 12:00:00', 'UNDONE');
INSERT INTO `events` VALUES ('2026-11-23 22:32:36', NULL, 'bf24da33-7e1f-47ce-899c-9c44555caaea', 'ae2cc8f2-0a9f-4e21-9de5-55bd2b555801', 'start_lease', '2100-01-01 10:00:00', 'UNDONE');
INSERT INTO `events` VALUES ('2026-11-23 22:32:36', NULL, 'cb483371-918c-4180-88c6-344a25f39ae1', '3219d52a-d1b8-4e65-bb96-a95b86cecdff', 'end_lease', '2100-01-01 03:00:00', 'UNDONE');
INSERT INTO `instance_reservations` VALUES ('2026-11-23 22:32:36', NULL, '5bdd42e3-32c9-44df-80b6-1e2b1aba5460', '4a1f0824-4934-4d9a-8d75-b61b5db6b554', 4, 4096, 40, 2, NULL, '4a1f082449344d9a8d75b61b5db6b554', NULL, NULL, '{\"id\": \"3d680d2b-52ac-4769-9849-25f40f6f5e4b\", \"name\": \"flavor-3\", \"vcpus\": 2, \"ram\": 2048, \"disk\": 20, \"OS-FLV-EXT-DATA:ephemeral\": 0, \"extra_specs\": {}}');
INSERT INTO `instance_reservations` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', 'c86e64d8-56dd-4b34-bfbd-7c5baf5b4806', '71e48cc4-a7a0-449c-add9-70716c63123d', 2, 2048, 20, 1, NULL, '71e48cc4a7a0449cadd970716c63123d', 1, NULL, '{\"id\": \"3d680d2b-52ac-4769-9849-25f40f6f5e4b\", \"name\": \"flavor-3\", \"vcpus\": 2, \"ram\": 2048, \"disk\": 20, \"OS-FLV-EXT-DATA:ephemeral\": 0, \"extra_specs\": {}}');
INSERT INTO `leases` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', '3219d52a-d1b8-4e65-bb96-a95b86cecdff', 'lease-5', 'user', 'project-alpha', '2100-01-01 01:00:00', '2100-01-01 03:00:00', NULL, 'ACTIVE', 0);
INSERT INTO `leases` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', 'ae2cc8f2-0a9f-4e21-9de5-55bd2b555801', 'lease-4', 'user', 'project-alpha', '2100-01-01 10:00:00', '2100-01-01 12:00:00', NULL, 'PENDING', 0);
INSERT INTO `reservations` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', '4a1f0824-4934-4d9a-8d75-b61b5db6b554', 'ae2cc8f2-0a9f-4e21-9de5-55bd2b555801', '5bdd42e3-32c9-44df-80b6-1e2b1aba5460', 'flavor:slot', 'pending', 0, 0);
INSERT INTO `reservations` VALUES ('2026-11-23 22:32:36', '2026-11-23 22:32:36', '71e48cc4-a7a0-449c-add9-70716c63123d', '3219d52a-d1b8-4e65-bb96-a95b86cecdff', 'c86e64d8-56dd-4b34-bfbd-7c5baf5b4806', 'flavor:slot', 'active', 0, 0);
INSERT INTO `warre_alembic_version` VALUES ('0001');
INSERT INTO `warre_backings` VALUES ('4a1f0824-4934-4d9a-8d75-b61b5db6b554', 'project-alpha', NULL, 'planned', NULL, '2100-01-01 00:00:00', NULL);
INSERT INTO `warre_backings` VALUES ('6fb1ee5c-fb95-423d-980a-16e703da406b', 'project-alpha', NULL, 'planned', NULL, '2100-01-01 00:00:00', NULL);
INSERT INTO `warre_backings` VALUES ('71e48cc4-a7a0-449c-add9-70716c63123d', 'project-alpha', 1, 'open', NULL, '2100-01-01 00:00:00', NULL);
INSERT INTO `warre_flavors` VALUES ('3d680d2b-52ac-4769-9849-25f40f6f5e4b', 'flavor-3', NULL, 2, 2048, 20, 0, '{}', NULL, NULL, NULL, 4, 1000, NULL, NULL, NULL, 1, 1, 3, '', '2100-01-01 00:00:00');
INSERT INTO `warre_history` VALUES ('6fb1ee5c-fb95-423d-980a-16e703da406b', '6fb1ee5c-fb95-423d-980a-16e703da406b', '8fb5e5d5-834e-407e-bcc1-f0829bf6a614', '3d680d2b-52ac-4769-9849-25f40f6f5e4b', 1, NULL, NULL, NULL, '{\"availability_zone\": null, \"disk_gb\": 20, \"ephemeral_gb\": 0, \"extra_specs\": {}, \"memory_mb\": 2048, \"properties\": null, \"vcpu\": 2}', '2100-01-01 20:00:00', '2100-01-01 22:00:00', 'project-alpha', 'user', 'ALLOCATED', NULL, '6fb1ee5cfb95423d980a16e703da406b', '2100-01-01 00:00:00', '2026-11-23 22:32:37', NULL);
INSERT INTO `warre_host_providers` VALUES ('1', 'd35363c14a102c22c7449baffca113ba572214ff816bf14970f483ff69dcb858', '[{\"generation\": 0, \"id\": \"provider-1\", \"inventories\": {\"DISK_GB\": {\"allocation_ratio\": 1.0, \"max_unit\": 1000, \"min_unit\": 1, \"reserved\": 0, \"step_size\": 1, \"total\": 1000}, \"MEMORY_MB\": {\"allocation_ratio\": 1.0, \"max_unit\": 65536, \"min_unit\": 1, \"reserved\": 0, \"step_size\": 1, \"total\": 65536}, \"VCPU\": {\"allocation_ratio\": 1.0, \"max_unit\": 16, \"min_unit\": 1, \"reserved\": 0, \"step_size\": 1, \"total\": 16}}, \"name\": \"a\", \"parent_id\": null, \"traits\": []}]', 'nova', '2000-01-01 00:00:00');
INSERT INTO `warre_host_providers` VALUES ('2', '1f0f4a110bdb6757b5f7a9d65a502636bb5c417209c013e06c033408ee0abf28', '[{\"generation\": 0, \"id\": \"provider-2\", \"inventories\": {\"DISK_GB\": {\"allocation_ratio\": 1.0, \"max_unit\": 1000, \"min_unit\": 1, \"reserved\": 0, \"step_size\": 1, \"total\": 1000}, \"MEMORY_MB\": {\"allocation_ratio\": 1.0, \"max_unit\": 65536, \"min_unit\": 1, \"reserved\": 0, \"step_size\": 1, \"total\": 65536}, \"VCPU\": {\"allocation_ratio\": 1.0, \"max_unit\": 16, \"min_unit\": 1, \"reserved\": 0, \"step_size\": 1, \"total\": 16}}, \"name\": \"b\", \"parent_id\": null, \"traits\": []}]', 'nova', '2000-01-01 00:00:00');
INSERT INTO `warre_hosts` VALUES ('1', 3, 0, 0);
INSERT INTO `warre_reservations` VALUES ('4a1f0824-4934-4d9a-8d75-b61b5db6b554', '4a1f0824-4934-4d9a-8d75-b61b5db6b554', '3d680d2b-52ac-4769-9849-25f40f6f5e4b', 2, 'first', 'a note', '{\"availability_zone\": null, \"disk_gb\": 20, \"ephemeral_gb\": 0, \"extra_specs\": {}, \"memory_mb\": 2048, \"properties\": null, \"vcpu\": 2}', NULL, NULL, NULL, NULL, '2100-01-01 00:00:00');
INSERT INTO `warre_reservations` VALUES ('71e48cc4-a7a0-449c-add9-70716c63123d', '71e48cc4-a7a0-449c-add9-70716c63123d', '3d680d2b-52ac-4769-9849-25f40f6f5e4b', 1, NULL, NULL, '{\"availability_zone\": null, \"disk_gb\": 20, \"ephemeral_gb\": 0, \"extra_specs\": {}, \"memory_mb\": 2048, \"properties\": null, \"vcpu\": 2}', NULL, NULL, NULL, NULL, '2100-01-01 00:00:00');
