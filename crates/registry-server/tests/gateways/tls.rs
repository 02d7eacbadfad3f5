//! Gateways and a registry behind mutual TLS.

use super::*;

/// `[registry]` of a gateway that shows its certificate to a registry behind https.
fn secured_table(registry: SocketAddr, name: &str) -> String {
    let tls = format!(
        "tls = {{ ca = [\"ca.cert.pem\"], certificate = \"{name}.cert.pem\", key = \"{name}.key.pem\" }}\n[registry.client]"
    );
    table(registry, name)
        .replace("http://", "https://")
        .replacen("[registry.client]", &tls, 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_register_and_find_through_mutual_tls() {
    let folder = folder();
    let text = REGISTRY.replace("LISTEN", "127.0.0.1:0")
        + "[tls]\ncertificate = \"registry.cert.pem\"\nkey = \"registry.key.pem\"\nclient_ca = [\"ca.cert.pem\"]\n";
    let registry = started(&folder, &text).await;
    let address = registry.address();
    let one = backend("one");
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\nbackend = \"http://{one}/\"\n\
         provides = {{ service = \"Books\", access_point = \"http://{one}/\" }}\n",
        secured_table(address, "p1").replace("100ms", "2s")
    );
    let provider = gateway(&folder, "p1", &text).await;
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}[[routes]]\npath = \"/books\"\n\
         backends = {{ service = \"Books\", owners = [\"CN=p1\"] }}\n",
        secured_table(address, "broker")
    );
    let (broker, _, running) = administered(&folder, &text).await;
    until("the provider is known", async || {
        ask(broker, "POST", "/books").await == (200, "one".to_owned())
    })
    .await;
    running.abort();
    drop(provider);
}
