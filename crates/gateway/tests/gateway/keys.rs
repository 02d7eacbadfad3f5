//! What is said of mistakes in a gateway's file tells no secret: a value of every kind stands in
//! the place of every key.

#[path = "../../../soapstone/tests/support/canary.rs"]
mod canary;
#[path = "../../../soapstone/tests/support/every_key.rs"]
mod every_key;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use soapstone::config::{KnownKey, json_schema};
use soapstone_gateway::Config;

use canary::{Node, assert_untold, canaries, may_be_told, table, tables, unopened, value};
use every_key::{every_table, token, without_mistakes};

/// TLS towards a server.
fn client_tls() -> Node {
    table([
        ("ca", value("[]")),
        ("pkcs11", token()),
        ("revocation", table([("ocsp", value("true"))])),
    ])
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/gateway.toml")
}

/// A gateway's file with every table of its own, and these endpoints in its route: of either
/// side, and of the client of its warm-up.
fn gateway([inbound, outbound, client]: [Node; 3]) -> Node {
    table([
        ("listen", value("\"127.0.0.1:0\"")),
        (
            "admin",
            table([
                ("listen", value("\"127.0.0.1:1\"")),
                ("console", value("false")),
                (
                    "tls",
                    table([
                        ("key", value("\"key.pem\"")),
                        ("pkcs11", token()),
                        ("revocation", table([("ocsp", value("true"))])),
                    ]),
                ),
            ]),
        ),
        (
            "tls",
            table([
                ("key", value("\"key.pem\"")),
                ("pkcs11", token()),
                ("revocation", table([("ocsp", value("true"))])),
            ]),
        ),
        ("timeouts", table([("idle", value("\"5s\""))])),
        (
            "limits",
            table([
                ("per_client", table([("queue", value("9"))])),
                ("per_partner", table([("queue", value("9"))])),
            ]),
        ),
        ("log", table([("format", value("\"json\""))])),
        ("audit", table([("file", value("\"audit.jsonl\""))])),
        ("record", table([("refused", value("9"))])),
        (
            "traces",
            table([
                ("collector", value("\"https://127.0.0.1:1/\"")),
                ("rate", value("\"9/s\"")),
                ("tls", client_tls()),
            ]),
        ),
        (
            "revocation",
            table([("hosts", value("[\"ocsp.example.com\"]"))]),
        ),
        (
            "roles",
            tables(table([
                ("name", value("\"clerks\"")),
                (
                    "members",
                    table([("attributes", tables(table([("name", value("\"role\""))])))]),
                ),
            ])),
        ),
        (
            "agreements",
            table([
                ("records", value("\"violations.xml\"")),
                ("identity", table([("key", value("\"key.pem\""))])),
                (
                    "store",
                    table([
                        ("url", value("\"redis://127.0.0.1:9\"")),
                        ("tls", table([("ca", value("[]")), ("pkcs11", token())])),
                    ]),
                ),
            ]),
        ),
        (
            "routes",
            tables(table([
                ("path", value("\"/\"")),
                ("backend", value("\"https://127.0.0.1:1/\"")),
                ("rate", value("\"9/s\"")),
                // With authorities of its own, so that those of the system are not read each time.
                ("tls", client_tls()),
                ("timeouts", table([("response", value("\"5s\""))])),
                ("inbound", inbound),
                ("outbound", outbound),
                (
                    "identity",
                    table([
                        ("subject", value("\"X-Subject\"")),
                        ("attributes", tables(table([("name", value("\"role\""))]))),
                    ]),
                ),
                ("warm_up", table([("client", client)])),
            ])),
        ),
    ])
}

/// A file without a mistake.
fn right() -> Node {
    table([
        ("listen", value("\"127.0.0.1:0\"")),
        ("admin", value("\"127.0.0.1:1\"")),
        (
            "routes",
            tables(table([
                ("path", value("\"/\"")),
                ("backend", value("\"http://127.0.0.1:1/\"")),
                ("inbound", without_mistakes()),
            ])),
        ),
    ])
}

/// A file with several backends, and with this endpoint in front of them.
fn balanced(outbound: Node) -> Node {
    let check = table([("path", value("\"/healthz\""))]);
    let ejection = table([("most", value("9"))]);
    let needs = || table([("bits", value("9"))]);
    let class = table([("members", value("[\"a\"]")), ("needs", needs())]);
    let balance = table([
        ("check", check),
        ("ejection", ejection),
        ("needs", needs()),
        ("classes", tables(class)),
    ]);
    let backend = table([
        ("url", value("\"https://127.0.0.1:1/\"")),
        ("tls", client_tls()),
        ("outbound", outbound),
        ("assures", table([("bits", value("9"))])),
    ]);
    table([
        ("listen", value("\"127.0.0.1:0\"")),
        (
            "routes",
            tables(table([
                ("path", value("\"/\"")),
                ("backends", tables(backend)),
                ("balance", balance),
            ])),
        ),
    ])
}

/// A file with a registry, which the first of these endpoints faces; the second one faces
/// providers.
fn registered([client, outbound]: [Node; 2]) -> Node {
    let registry = table([
        ("url", value("\"https://127.0.0.1:1/\"")),
        ("tls", client_tls()),
        ("client", client),
    ]);
    let policy = table([
        ("owners", value("[\"a\"]")),
        ("outbound", outbound),
        ("assures", table([("bits", value("9"))])),
    ]);
    let source = table([("service", value("\"a\"")), ("policies", tables(policy))]);
    let provides = table([("service", value("\"a\""))]);
    table([
        ("listen", value("\"127.0.0.1:0\"")),
        ("registry", registry),
        (
            "routes",
            tables(table([
                ("path", value("\"/\"")),
                ("backends", source),
                ("provides", provides),
            ])),
        ),
    ])
}

/// A file whose backends DNS names.
fn named() -> Node {
    let source = table([
        ("srv", value("\"https://_a._tcp.example.com/\"")),
        ("networks", value("[\"10.0.0.0/8\"]")),
        ("tls", table([("ca", value("[]")), ("pkcs11", token())])),
    ]);
    table([
        ("listen", value("\"127.0.0.1:0\"")),
        (
            "routes",
            tables(table([("path", value("\"/\"")), ("backends", source)])),
        ),
    ])
}

/// A file with a token service behind this endpoint.
fn issuing(inbound: Node) -> Node {
    let parties = || table([("users", value("[\"alice\"]"))]);
    let service = table([("address", value("\"urn:books\""))]);
    let attribute = table([
        ("subjects", parties()),
        ("claim", value("\"role\"")),
        ("values", value("[\"reader\"]")),
    ]);
    let foreign = table([
        ("issuer", value("\"urn:idp\"")),
        ("names", value("[\"front\"]")),
    ]);
    let delegation = table([
        ("actors", table([("subjects", tables(foreign))])),
        ("subjects", parties()),
        ("forms", value("[\"act-as\"]")),
        ("services", value("[\"urn:books\"]")),
    ]);
    let claim = table([
        ("name", value("\"urn:example:group\"")),
        ("claim", value("\"role\"")),
    ]);
    let sts = table([
        ("issuer", value("\"urn:sts\"")),
        (
            "identity",
            table([
                ("key", value("\"key.pem\"")),
                ("pkcs11", table([("module", value("\"module.so\""))])),
            ]),
        ),
        ("services", tables(service)),
        ("attributes", tables(attribute)),
        ("delegations", tables(delegation)),
        (
            "dialects",
            tables(table([
                ("dialect", value("\"urn:example:claims\"")),
                ("claims", tables(claim)),
            ])),
        ),
        (
            "issuers",
            tables(table([
                ("name", value("\"urn:idp\"")),
                ("revocation", table([("ocsp", value("true"))])),
            ])),
        ),
    ]);
    table([
        ("listen", value("\"127.0.0.1:0\"")),
        (
            "routes",
            tables(table([
                ("path", value("\"/\"")),
                ("sts", sts),
                ("inbound", inbound),
            ])),
        ),
    ])
}

/// Files that between them have every table.
fn samples() -> [Node; 6] {
    [
        issuing(every_table()),
        gateway([(); 3].map(|()| every_table())),
        right(),
        balanced(every_table()),
        registered([(); 2].map(|()| every_table())),
        named(),
    ]
}

fn known(sample: &Node) -> Vec<KnownKey> {
    Config::known_keys(&sample.file(), &file(), &|_| None)
}

#[test]
fn the_samples_have_every_table() {
    let all: Vec<KnownKey> = samples().iter().flat_map(known).collect();
    assert_eq!(unopened(&all), Vec::<String>::new());
    let names: BTreeSet<(&str, &str)> = all
        .iter()
        .map(|key| (key.table.as_str(), key.key))
        .collect();
    assert!(names.len() > 300, "{} keys", names.len());
}

#[test]
fn no_value_of_a_gateways_keys_is_told_that_may_be_a_secret() {
    for sample in [
        gateway([(); 3].map(|()| without_mistakes())),
        right(),
        balanced(without_mistakes()),
        registered([(); 2].map(|()| without_mistakes())),
        named(),
        issuing(without_mistakes()),
    ] {
        // Those of endpoints are tested where endpoint files are, and read by the same readers.
        let keys = known(&sample).into_iter().filter(|key| {
            let sides = [
                "routes.inbound",
                "routes.outbound",
                "routes.warm_up.client",
                "routes.backends.outbound",
                "routes.backends.policies.outbound",
                "registry.client",
            ];
            !sides.iter().any(|side| key.table.starts_with(side))
        });
        for key in keys {
            for toml in canaries() {
                let Some(text) = sample.with(&key, &toml) else {
                    continue;
                };
                if may_be_told(&key.kind, &toml) || is_shown(&key, &toml) {
                    continue;
                }
                let of = format!("[{}] {} = {toml}", key.table, key.key);
                let told = match Config::from_text(&text, &file(), &|_| None) {
                    Ok(config) => format!("{config}\n{config:?}"),
                    Err(problems) => format!("{problems}\n{problems:?}"),
                };
                assert_untold(&told, &of);
            }
        }
    }
}

/// What names a route for operators: it is shown wherever the route is.
fn is_shown(key: &KnownKey, toml: &str) -> bool {
    key.table == "routes" && key.key == "name" && toml.starts_with('"')
}

/// To write it anew: `SOAPSTONE_WRITE_SCHEMA=1 cargo test -p soapstone-gateway --test gateway
/// schema`.
#[test]
fn the_schema_of_gateway_files_has_the_keys_that_are_read() {
    let mut keys: Vec<KnownKey> = samples().iter().flat_map(known).collect();
    keys.sort();
    keys.dedup();
    let schema = json_schema("Soapstone gateway file", &keys);
    let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway.schema.json");
    if std::env::var_os("SOAPSTONE_WRITE_SCHEMA").is_some() {
        std::fs::write(&written, &schema).expect("it is written");
    }
    let written = std::fs::read_to_string(written).expect("a schema");
    assert!(
        schema == written,
        "docs/gateway.schema.json is not what is read"
    );
}
