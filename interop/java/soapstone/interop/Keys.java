package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.crypto.Merlin;

/** PEM files, put into the in-memory key and trust stores that WSS4J asks for. */
final class Keys {
    static final String OURS = "ours";
    static final String DECRYPTING = "decrypting";
    static final String PEER = "peer";
    /** Protects the entries of the in-memory store; it never leaves this process. */
    static final String STORE_PASSWORD = "in-memory";

    private static final Pattern PEM =
        Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]+)-----END \\1-----");

    private Keys() {
    }

    /** A WSS4J crypto with our key, the peer's certificate (if given) and the trust anchors (if given). */
    static Crypto crypto(Options options) {
        Merlin merlin = new Merlin();
        merlin.setKeyStore(identity(options));
        merlin.setTrustStore(anchors(options));
        return merlin;
    }

    /** Our keys and the peer's certificate, as far as they are given. */
    static KeyStore identity(Options options) {
        return store(store -> {
            if (options.optional("key") != null) {
                store.setKeyEntry(OURS, privateKey(options.required("key")), STORE_PASSWORD.toCharArray(),
                    certificates(options.required("cert")).toArray(new Certificate[0]));
            }
            if (options.optional("decryption-key") != null) {
                store.setKeyEntry(DECRYPTING, privateKey(options.required("decryption-key")), STORE_PASSWORD.toCharArray(),
                    certificates(options.required("decryption-cert")).toArray(new Certificate[0]));
            }
            if (options.optional("peer") != null) {
                store.setCertificateEntry(PEER, certificates(options.required("peer")).get(0));
            }
        });
    }

    /** The trust anchors, if there are any. */
    static KeyStore anchors(Options options) {
        return store(store -> {
            if (options.optional("ca") != null) {
                int number = 0;
                for (Certificate anchor : certificates(options.required("ca"))) {
                    store.setCertificateEntry("anchor-" + number++, anchor);
                }
            }
        });
    }

    private interface Filling {
        void fill(KeyStore store) throws IOException, GeneralSecurityException;
    }

    private static KeyStore store(Filling filling) {
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            filling.fill(store);
            return store;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("keys: " + e.getMessage(), e);
        }
    }

    static List<X509Certificate> certificates(String path) throws IOException, GeneralSecurityException {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        List<X509Certificate> found = new ArrayList<>();
        Matcher matcher = PEM.matcher(read(path));
        while (matcher.find()) {
            if (matcher.group(1).endsWith("CERTIFICATE")) {
                byte[] der = Base64.getMimeDecoder().decode(matcher.group(2));
                found.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(der)));
            }
        }
        if (found.isEmpty()) {
            throw new IllegalArgumentException(path + ": expected a PEM certificate, found none");
        }
        return found;
    }

    private static PrivateKey privateKey(String path) throws IOException, GeneralSecurityException {
        Matcher matcher = PEM.matcher(read(path));
        while (matcher.find()) {
            if (matcher.group(1).equals("PRIVATE KEY")) {
                PKCS8EncodedKeySpec specification =
                    new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(matcher.group(2)));
                for (String algorithm : List.of("RSA", "EC", "Ed25519", "X25519")) {
                    try {
                        return KeyFactory.getInstance(algorithm).generatePrivate(specification);
                    } catch (InvalidKeySpecException e) {
                        continue;
                    }
                }
            }
        }
        throw new IllegalArgumentException(path + ": expected a PKCS#8 PEM key (RSA, EC, Ed25519 or X25519), found none");
    }

    private static String read(String path) throws IOException {
        return Files.readString(Path.of(path), StandardCharsets.US_ASCII);
    }
}
