package soapstone.interop;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.HashMap;
import java.util.Map;

import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/** The same keys and anchors for connections as for messages. */
final class Tls {
    /** Of every store that the harness makes. */
    static final String PASSWORD = "secret";

    private static final Map<String, SSLSocketFactory> TRUSTING = new HashMap<>();

    private Tls() {
    }

    /** What a server with that key has. */
    static SSLContext with(String store) throws GeneralSecurityException, IOException {
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(load(store), PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        return context;
    }

    /** Makes every connection trust the anchors, also those that read a WSDL or ask for tokens. */
    static void trust(String store) throws GeneralSecurityException, IOException {
        SSLSocketFactory known = TRUSTING.get(store);
        if (known == null) {
            known = trusting(store);
            TRUSTING.put(store, known);
        }
        // Connections are kept by the factory that made them: another one would begin others.
        HttpsURLConnection.setDefaultSSLSocketFactory(known);
    }

    private static SSLSocketFactory trusting(String store) throws GeneralSecurityException, IOException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(load(store));
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return context.getSocketFactory();
    }

    private static KeyStore load(String path) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream octets = Files.newInputStream(Path.of(path))) {
            store.load(octets, PASSWORD.toCharArray());
        }
        return store;
    }
}
