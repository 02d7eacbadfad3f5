package soapstone.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import javax.security.auth.callback.Callback;

import org.apache.wss4j.common.bsp.BSPRule;
import org.apache.wss4j.common.crypto.AlgorithmSuite;
import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.ext.WSPasswordCallback;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.WSDataRef;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.wss4j.dom.engine.WSSecurityEngineResult;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.handler.WSHandlerResult;
import org.apache.wss4j.dom.transform.STRTransform;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Secured envelope to plain envelope, set up once and used for many messages.
 *
 * <p>WSS4J says what it found; whether that is what the mechanism demands is decided here, on the elements that it
 * verified or decrypted, not on their names.
 */
final class Opening {
    /** The message is not what the mechanism and the suite demand. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String reason) {
            super(reason);
        }
    }

    private static final int P521_BITS = 521;

    private final Mechanism mechanism;
    private final Crypto crypto;
    private final AlgorithmSuite algorithms = new AlgorithmSuite();
    private final boolean rsa15;
    private final boolean passwordKeys;
    private final boolean aes192;
    private final boolean profile;
    private final boolean timestamp;
    private final String signed;
    private final String encrypted;
    private final String user;
    private final String password;
    private final byte[] sharedKey;
    private final Attachments attachments;
    private final String attachmentsOut;
    private final WSSecurityEngine engine = new WSSecurityEngine();

    Opening(Options options) throws IOException {
        mechanism = Mechanism.named(options.required("mechanism"));
        Suite suite = Suite.of(options);
        crypto = Keys.crypto(options);
        rsa15 = suite.keyTransport().endsWith("rsa-1_5");
        passwordKeys = options.optional("password-keys") != null;
        String shared = options.optional("shared-key");
        sharedKey = shared == null ? null : Files.readAllBytes(Path.of(shared));
        boolean symmetric = mechanism == Mechanism.SECURE_CONVERSATION || passwordKeys || sharedKey != null;
        algorithms.addSignatureMethod(symmetric ? suite.symmetricSignature() : suite.signature());
        algorithms.addC14nAlgorithm(Suite.EXCLUSIVE);
        algorithms.addDigestAlgorithm(suite.digest());
        algorithms.addTransformAlgorithm(Suite.EXCLUSIVE);
        algorithms.addTransformAlgorithm(STRTransform.TRANSFORM_URI);
        algorithms.addTransformAlgorithm(Suite.DSIG + "enveloped-signature");
        algorithms.addEncryptionMethod(suite.data());
        algorithms.addKeyWrapAlgorithm(suite.keyTransport());
        if (suite.keyAgreement() != null) {
            algorithms.addKeyAgreementMethodAlgorithm(suite.keyAgreement());
            algorithms.addDerivedKeyAlgorithm(suite.keyDerivation());
        }
        algorithms.setMaximumEllipticCurveKeyLength(P521_BITS);
        aes192 = suite.data().endsWith("aes192-cbc");
        profile = options.optional("bsp", "yes").equals("yes");
        timestamp = options.optional("timestamp", "yes").equals("yes");
        signed = options.optional("signed", "Body,Timestamp");
        encrypted = options.optional("encrypted", "Body");
        user = options.optional("user");
        password = options.optional("password");
        attachments = Attachments.of(options.optional("attachments"));
        attachmentsOut = options.optional("attachments-out");
        algorithms.addTransformAlgorithm(WSConstants.SWA_ATTACHMENT_CONTENT_SIG_TRANS);
        algorithms.addTransformAlgorithm(WSConstants.SWA_ATTACHMENT_COMPLETE_SIG_TRANS);
        algorithms.addTransformAlgorithm(WSConstants.SWA_ATTACHMENT_CIPHERTEXT_TRANS);
        engine.setWssConfig(WSSConfig.getNewInstance());
    }

    byte[] open(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        if (mechanism != Mechanism.NONE) {
            WSHandlerResult result = engine.processSecurityHeader(document, request());
            if (result == null) {
                throw new Refused("no Security header");
            }
            check(result.getResults(), document);
            removeSecurityHeader(document);
        }
        if (attachmentsOut != null) {
            // What is not signed is deciphered while it is read.
            try {
                attachments.write(attachmentsOut);
            } catch (IOException e) {
                throw new Refused(e.getMessage());
            }
        }
        return Envelopes.serialize(document, message.length + 1024);
    }

    private RequestData request() {
        RequestData data = new RequestData();
        data.setWssConfig(engine.getWssConfig());
        data.setSigVerCrypto(crypto);
        data.setAttachmentCallbackHandler(attachments);
        data.setDecCrypto(crypto);
        data.setAlgorithmSuite(algorithms);
        data.setAllowRSA15KeyTransportAlgorithm(rsa15);
        data.setRequireTimestampExpires(true);
        data.setDisableBSPEnforcement(!profile);
        data.setAllowUsernameTokenNoPassword(passwordKeys);
        if (aes192) {
            // The Basic Security Profile knows no AES-192; WS-SecurityPolicy's Basic192 suites demand it.
            data.setIgnoredBSPRules(List.of(BSPRule.R5620));
        }
        if (mechanism.usernames()) {
            data.setRequiredPasswordType(mechanism == Mechanism.USERNAME_DIGEST
                ? WSConstants.PASSWORD_DIGEST : WSConstants.PASSWORD_TEXT);
        }
        data.setCallbackHandler(callbacks -> {
            for (Callback callback : callbacks) {
                if (callback instanceof WSPasswordCallback asked) {
                    if (asked.getUsage() == WSPasswordCallback.SECURITY_CONTEXT_TOKEN) {
                        asked.setKey(Conversation.SECRET);
                        continue;
                    }
                    if (asked.getUsage() == WSPasswordCallback.SECRET_KEY) {
                        asked.setKey(sharedKey);
                        continue;
                    }
                    boolean ofUser = asked.getUsage() == WSPasswordCallback.USERNAME_TOKEN;
                    if (!ofUser) {
                        asked.setPassword(Keys.STORE_PASSWORD);
                    } else if (asked.getIdentifier().equals(user)) {
                        asked.setPassword(password);
                    }
                }
            }
        });
        return data;
    }

    private void check(List<WSSecurityEngineResult> results, Document document) throws Refused {
        if (timestamp) {
            require(results, WSConstants.TS, "Timestamp");
        }
        if (mechanism.usernames()) {
            require(results, WSConstants.UT, "UsernameToken");
        }
        if (passwordKeys) {
            require(results, WSConstants.UT_NOPASSWORD, "UsernameToken that a key is derived from");
        }
        if (mechanism.signs()) {
            int signature = signature(results);
            require(results, signature, "Signature");
            for (String name : signed.split(",")) {
                Element wanted = Envelopes.find(name, document);
                if (wanted == null || !covered(results, signature, wanted, false)) {
                    throw new Refused(name + " is not signed");
                }
            }
        }
        if (mechanism.encrypts()) {
            require(results, WSConstants.ENCR, "EncryptedKey or ReferenceList");
            for (String name : encrypted.split(",")) {
                Element wanted = Envelopes.find(name, document);
                if (wanted == null || !covered(results, WSConstants.ENCR, wanted, name.equals("Body"))) {
                    throw new Refused(name + " was not encrypted");
                }
            }
        }
        // Results stand in the opposite order of processing: what was done last to the message is undone first.
        int verified = position(results, signature(results));
        if (mechanism == Mechanism.SIGN_ENCRYPT && position(results, WSConstants.ENCR) < verified
            || mechanism == Mechanism.ENCRYPT_SIGN && verified < position(results, WSConstants.ENCR)) {
            throw new Refused("signature and encryption stand in the other order");
        }
    }

    /** WSS4J has an action of its own for a signature by a key from a password that is used as it is. */
    private int signature(List<WSSecurityEngineResult> results) {
        return passwordKeys && position(results, WSConstants.SIGN) < 0 ? WSConstants.UT_SIGN : WSConstants.SIGN;
    }

    private static int position(List<WSSecurityEngineResult> results, int action) {
        for (int i = 0; i < results.size(); i++) {
            if ((Integer) results.get(i).get(WSSecurityEngineResult.TAG_ACTION) == action) {
                return i;
            }
        }
        return -1;
    }

    static void require(List<WSSecurityEngineResult> results, int action, String what) throws Refused {
        if (position(results, action) < 0) {
            throw new Refused("no " + what);
        }
    }

    /** True if {@code wanted}, or (of a Body) the whole of its content, was under an action of this kind. */
    static boolean covered(List<WSSecurityEngineResult> results, int action, Element wanted, boolean content) {
        for (WSSecurityEngineResult result : results) {
            Object references = result.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
            if ((Integer) result.get(WSSecurityEngineResult.TAG_ACTION) != action || !(references instanceof List<?> list)) {
                continue;
            }
            for (Object entry : list) {
                Element element = ((WSDataRef) entry).getProtectedElement();
                boolean whole = element == wanted;
                boolean inside = content && ((WSDataRef) entry).isContent() && element != null
                    && element.getParentNode() == wanted;
                if (whole || inside) {
                    return true;
                }
            }
        }
        return false;
    }

    private static void removeSecurityHeader(Document document) {
        Element security = Envelopes.security(document);
        Node header = security.getParentNode();
        header.removeChild(security);
        if (!header.hasChildNodes()) {
            header.getParentNode().removeChild(header);
        }
    }
}
