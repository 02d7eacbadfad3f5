package soapstone.interop;

import java.util.Map;
import java.util.TreeMap;

/**
 * One algorithm suite of WS-SecurityPolicy 1.3 (section 6.1), by the letter, with the GCM suites that CXF and WCF add, and those that
 * agree on keys. What encrypts a session key is its {@code keyTransport}, be it RSA or, after an agreement, AES key wrap.
 *
 * <p>By the letter, the {@code …Sha256} suites change the digest alone: their signatures stay RSA-SHA1. Implementations
 * that sign with RSA-SHA256 under these names are spoken to with {@link #withSignature}.
 */
record Suite(String name, String signature, String digest, String keyTransport, String oaepDigest, String oaepMask,
             String keyAgreement, String keyDerivation, String data, int keyBits) {

    static final String DSIG = "http://www.w3.org/2000/09/xmldsig#";
    static final String DSIG_MORE = "http://www.w3.org/2001/04/xmldsig-more#";
    static final String DSIG_MORE_2021 = "http://www.w3.org/2021/04/xmldsig-more#";
    static final String ENC = "http://www.w3.org/2001/04/xmlenc#";
    static final String ENC11 = "http://www.w3.org/2009/xmlenc11#";
    static final String EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";

    private static final Map<String, Suite> ALL = new TreeMap<>();

    static {
        classic("Basic256", ENC + "aes256-cbc", 256);
        classic("Basic192", ENC + "aes192-cbc", 192);
        classic("Basic128", ENC + "aes128-cbc", 128);
        classic("TripleDes", ENC + "tripledes-cbc", 192);
        gcm("Basic128GCM", ENC11 + "aes128-gcm", 128);
        gcm("Basic192GCM", ENC11 + "aes192-gcm", 192);
        gcm("Basic256GCM", ENC11 + "aes256-gcm", 256);
        for (int bits : new int[] {128, 256}) {
            agreeing("Basic" + bits + "GCMEcdhEs", DSIG_MORE + "ecdsa-sha256", ENC11 + "ECDH-ES", ENC11 + "ConcatKDF", bits);
            agreeing("Basic" + bits + "GCMX25519", DSIG_MORE_2021 + "eddsa-ed25519", DSIG_MORE_2021 + "x25519",
                DSIG_MORE_2021 + "hkdf", bits);
        }
    }

    private static void classic(String family, String data, int keyBits) {
        for (boolean sha256 : new boolean[] {false, true}) {
            for (boolean rsa15 : new boolean[] {false, true}) {
                String name = family + (sha256 ? "Sha256" : "") + (rsa15 ? "Rsa15" : "");
                String digest = sha256 ? ENC + "sha256" : DSIG + "sha1";
                String transport = ENC + (rsa15 ? "rsa-1_5" : "rsa-oaep-mgf1p");
                ALL.put(name, new Suite(name, DSIG + "rsa-sha1", digest, transport, null, null, null, null, data, keyBits));
            }
        }
    }

    private static void gcm(String name, String data, int keyBits) {
        ALL.put(name, new Suite(name, DSIG_MORE + "rsa-sha256", ENC + "sha256", ENC11 + "rsa-oaep", ENC + "sha256",
            ENC11 + "mgf1sha256", null, null, data, keyBits));
    }

    private static void agreeing(String name, String signature, String agreement, String derivation, int keyBits) {
        ALL.put(name, new Suite(name, signature, ENC + "sha256", ENC + "kw-aes" + keyBits, null, null, agreement, derivation,
            ENC11 + "aes" + keyBits + "-gcm", keyBits));
    }

    /** The signature algorithm for keys that both sides hold. */
    String symmetricSignature() {
        return signature.endsWith("-sha1") ? DSIG + "hmac-sha1" : DSIG_MORE + "hmac-sha256";
    }

    /** The suite of that name. */
    static Suite named(String name) {
        Suite suite = ALL.get(name);
        if (suite == null) {
            throw new IllegalArgumentException("suite: expected one of " + ALL.keySet() + ", found " + name);
        }
        return suite;
    }

    /** This suite with another signature algorithm, given as URI or as short name such as {@code ecdsa-sha256}. */
    Suite withSignature(String algorithm) {
        String uri = switch (algorithm) {
            case "rsa-sha1", "dsa-sha1", "hmac-sha1" -> DSIG + algorithm;
            case "ed25519" -> "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519";
            default -> algorithm.contains(":") ? algorithm : DSIG_MORE + algorithm;
        };
        return new Suite(name, uri, digest, keyTransport, oaepDigest, oaepMask, keyAgreement, keyDerivation, data, keyBits);
    }

    /** This suite with another key derivation: {@code concat-kdf} or {@code hkdf}. */
    Suite withDerivation(String name) {
        String uri = switch (name) {
            case "concat-kdf" -> ENC11 + "ConcatKDF";
            case "hkdf" -> DSIG_MORE_2021 + "hkdf";
            default -> throw new IllegalArgumentException("derivation: expected concat-kdf or hkdf, found " + name);
        };
        return new Suite(this.name, signature, digest, keyTransport, oaepDigest, oaepMask, keyAgreement, uri, data, keyBits);
    }

    /** The suite that the options name, with the changes that they make. */
    static Suite of(Options options) {
        Suite suite = named(options.optional("suite", "Basic256Sha256"));
        if (options.optional("signature") != null) {
            suite = suite.withSignature(options.required("signature"));
        }
        return options.optional("derivation") == null ? suite : suite.withDerivation(options.required("derivation"));
    }
}
