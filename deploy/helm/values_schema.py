"""The schema of the chart's values: each is of the kind that its default has, and no other name is one."""

from collections.abc import Mapping
from typing import Any

from recallmesh.settings import Settings

Schema = dict[str, Any]

FREE: Schema = {"type": "object"}
"""What Kubernetes knows, and checks itself."""
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
NAMES: Schema = {"type": "array", "items": {"type": "string", "minLength": 1}}
OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
COUNT: Schema = {"type": "integer", "minimum": 0}
SECONDS: Schema = {"type": "integer", "minimum": 0}
URL = {"type": "string", "pattern": r"^([a-z0-9+]+://\S+)?$"}
RESOURCES: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        kind: {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
        for kind in ("requests", "limits")
    },
}
SPECIAL: Mapping[str, Schema] = {
    "resources": RESOURCES,
    "commonLabels": TEXTS,
    "nodeSelector": TEXTS,
    "annotations": TEXTS,
    "labels": TEXTS,
    "affinity": FREE,
    "tolerations": OBJECTS,
    "extraEnv": OBJECTS,
    "extraVolumes": OBJECTS,
    "extraVolumeMounts": OBJECTS,
    "from": OBJECTS,
    "metricsFrom": OBJECTS,
    "extraEgress": OBJECTS,
    "outsidePorts": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65535}},
    "pullSecrets": NAMES,
    "banks": NAMES,
    "issuerRef": TEXTS,
    "mutual": {"enum": ["none", "internal", "all"]},
    "tenant": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    "hosts": NAMES,
    "hostnames": NAMES,
    "parentRefs": OBJECTS,
    "triggers": OBJECTS,
    "interval": {"type": "string", "pattern": "^[0-9]+(ms|s|m)$"},
    "topologySpread.keys": NAMES,
    "networkPolicy.stores": OBJECTS,
    "mode": {"enum": ["distributed", "embedded"]},
    "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "whenUnsatisfiable": {"enum": ["ScheduleAnyway", "DoNotSchedule"]},
    "maxUnavailable": {"type": ["integer", "string"], "minimum": 0, "pattern": r"^[0-9]+%$"},
    "maxReplicas": {"type": "integer", "minimum": 1},
    "minReplicas": {"type": "integer", "minimum": 1},
    "url": URL,
}
"""Values whose default does not say it all, by the last one or two of their names."""
SERVICES = ("recall", "retain", "bank", "embedder", "embedderNext", "reranker", "door", "mcp")
OWNED = frozenset(
    (
        "data",
        "serve.listen",
        "serve.metrics_port",
        "serve.health_port",
        "ledger.url",
        "semantic.qdrant_url",
        "keyword.opensearch_url",
        "keyword.opensearch_user",
        "keyword.opensearch_ca",
        "graph.neo4j_url",
        "graph.neo4j_user",
        "graph.neo4j_ca",
        "door.listen",
        "door.server",
        "door.exposed",
        "door.hosts",
        "auth.mode",
        "auth.keys",
        "auth.mesh_key_file",
        "tls",
    )
)
"""Settings that the chart makes of other values; so it does each part's address and path, and whatever is secret."""
OWN_FIELDS = frozenset(("address", "path"))


def schema_of(values: Mapping[str, Any]) -> Schema:
    """Return the schema of values like these."""
    made = _object({name: value for name, value in values.items() if name not in ("settings", "defaults", "arms")})
    properties = made["properties"]
    service = _object(values["defaults"])
    arms = {name: {"$ref": "#/$defs/service"} for name in values["arms"]}
    properties["defaults"] = {"$ref": "#/$defs/service"}
    properties["arms"] = {"type": "object", "additionalProperties": False, "properties": arms}
    for name in SERVICES:
        more = {key: value for key, value in values[name].items() if key not in values["defaults"]}
        own = _object(more, f"{name}.")
        properties[name] = _with(service, own["properties"]) if more else {"$ref": "#/$defs/service"}
    properties["settings"] = settings_schema()
    # Helm hands these down to charts that are part of another.
    properties["global"] = FREE
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Made of values.yaml and of the mesh's settings by `make gen`; not to be edited.",
        **made,
        "$defs": {"service": service},
    }


def _with(schema: Schema, more: Schema) -> Schema:
    return {**schema, "properties": {**schema["properties"], **more}}


def _object(values: Mapping[str, Any], prefix: str = "") -> Schema:
    properties = {name: _kind(f"{prefix}{name}", name, value) for name, value in values.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _kind(name: str, last: str, value: Any) -> Schema:  # noqa: ANN401 - whatever YAML can hold
    for special in (".".join(name.split(".")[-2:]), last):
        if special in SPECIAL:
            return SPECIAL[special]
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return COUNT
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, Mapping):
        return _object(value, f"{name}.")
    raise TypeError(f"{name}: its default does not say of what kind it is, and neither does SPECIAL")


def settings_schema() -> Schema:
    """Return the schema of the settings that may be given: all that are neither secret nor the chart's own."""
    whole = Settings.model_json_schema()
    made = _pruned(whole, whole["$defs"], "")
    return {"type": "object", "additionalProperties": False, "properties": made["properties"]}


def _pruned(schema: Schema, definitions: Schema, path: str) -> Schema:
    """Return a part of the settings' schema without what is for readers, secret or the chart's own."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    kept = {key: value for key, value in schema.items() if key not in ("title", "description", "default", "format")}
    if "properties" in kept:
        kept["properties"] = {
            name: _pruned(own, definitions, f"{path}{name}.")
            for name, own in kept["properties"].items()
            if not _is_owned(f"{path}{name}") and not _is_secret(own)
        }
    for many in ("anyOf", "oneOf", "prefixItems"):
        if many in kept:
            kept[many] = [_pruned(one, definitions, path) for one in kept[many]]
    for one in ("items", "additionalProperties", "propertyNames"):
        if isinstance(kept.get(one), dict):
            kept[one] = _pruned(kept[one], definitions, path)
    return kept


def _is_owned(path: str) -> bool:
    return path in OWNED or path.partition(".")[2] in OWN_FIELDS


def _is_secret(schema: Schema) -> bool:
    return any(one.get("writeOnly") for one in (schema, *schema.get("anyOf", ())))
