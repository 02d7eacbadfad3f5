package soapstone.interop;

import java.io.IOException;

import javax.crypto.KeyGenerator;

import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.derivedKey.ConversationConstants;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.util.KeyUtils;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.message.WSSecDKEncrypt;
import org.apache.wss4j.dom.message.WSSecDKSign;
import org.apache.wss4j.dom.message.WSSecEncrypt;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecSecurityContextToken;
import org.apache.wss4j.dom.message.WSSecSignature;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.apache.wss4j.dom.message.WSSecUsernameToken;
import org.w3c.dom.Document;

/** Plain envelope to secured envelope, set up once and used for many messages. */
final class Securing {
    private static final int LIFETIME_SECONDS = 300;

    private final Mechanism mechanism;
    private final Suite suite;
    private final Crypto crypto;
    private final int signatureReference;
    private final int encryptionReference;
    private final boolean path;
    private final boolean token;
    private final String signed;
    private final String encrypted;
    private final String user;
    private final String password;
    private final PasswordKeys passwordKeys;
    private final String attachmentsSigned;
    private final String attachmentsEncrypted;
    private final Attachments attachments;
    private final String attachmentsOut;

    Securing(Options options) throws IOException {
        mechanism = Mechanism.named(options.required("mechanism"));
        suite = Suite.of(options);
        crypto = Keys.crypto(options);
        String reference = options.optional("key-reference", "direct");
        signatureReference = reference(reference);
        encryptionReference = reference(options.optional("encryption-key-reference", reference));
        path = reference.equals("pki-path");
        token = options.optional("include-token", "no").equals("yes");
        signed = options.optional("signed", "Body,Timestamp");
        encrypted = options.optional("encrypted", "Body");
        user = options.optional("user");
        password = options.optional("password");
        passwordKeys = options.optional("password-keys") == null ? null : new PasswordKeys(options, suite);
        attachmentsSigned = options.optional("attachments-signed");
        attachmentsEncrypted = options.optional("attachments-encrypted");
        attachments = Attachments.of(options.optional("attachments"));
        attachmentsOut = options.optional("attachments-out");
    }

    private static int reference(String name) {
        return switch (name) {
            case "direct" -> WSConstants.BST_DIRECT_REFERENCE;
            case "ski" -> WSConstants.SKI_KEY_IDENTIFIER;
            case "thumbprint" -> WSConstants.THUMBPRINT_IDENTIFIER;
            case "issuer-serial" -> WSConstants.ISSUER_SERIAL;
            case "issuer-serial-quoted" -> WSConstants.ISSUER_SERIAL_QUOTE_FORMAT;
            case "pki-path" -> WSConstants.BST_DIRECT_REFERENCE;
            case "x509" -> WSConstants.X509_KEY_IDENTIFIER;
            default -> throw new IllegalArgumentException(
                "key reference: expected direct, pki-path, ski, thumbprint, issuer-serial, issuer-serial-quoted or x509, found " + name);
        };
    }

    byte[] secure(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        secure(document);
        if (attachmentsOut != null) {
            attachments.write(attachmentsOut);
        }
        return Envelopes.serialize(document, message.length * 3 / 2 + 8192);
    }

    private void secure(Document document) throws WSSecurityException {
        if (mechanism == Mechanism.NONE) {
            return;
        }
        WSSecHeader header = new WSSecHeader(document);
        header.insertSecurityHeader();
        WSSecTimestamp timestamp = new WSSecTimestamp(header);
        timestamp.setTimeToLive(LIFETIME_SECONDS);
        timestamp.build();
        if (passwordKeys != null) {
            passwordKeys.protect(header, document, mechanism, signed, encrypted);
            return;
        }
        if (mechanism.usernames()) {
            name(header);
        }
        switch (mechanism) {
            case SIGN -> sign(header, document);
            case ENCRYPT -> encrypt(header, document);
            case SIGN_ENCRYPT -> {
                sign(header, document);
                encrypt(header, document);
            }
            case ENCRYPT_SIGN -> {
                encrypt(header, document);
                sign(header, document);
            }
            case SECURE_CONVERSATION -> converse(header, document);
            default -> {
            }
        }
    }

    /** Signs, then encrypts, with keys derived from the established context. */
    private void converse(WSSecHeader header, Document document) throws WSSecurityException {
        WSSecSecurityContextToken token = new WSSecSecurityContextToken(header, null);
        token.setWscVersion(ConversationConstants.VERSION_05_12);
        token.setIdentifier(Conversation.IDENTIFIER);
        token.prepare(crypto);
        WSSecDKSign signature = new WSSecDKSign(header);
        signature.setWscVersion(ConversationConstants.VERSION_05_12);
        signature.setTokenIdentifier(token.getSctId());
        signature.setCustomValueType(WSConstants.WSC_SCT_05_12);
        signature.setSignatureAlgorithm(suite.symmetricSignature());
        signature.setDigestAlgorithm(suite.digest());
        signature.setDerivedKeyLength(Math.min(suite.keyBits(), Conversation.SIGNATURE_BITS) / Byte.SIZE);
        signature.getParts().addAll(Envelopes.parts(signed, document, false));
        signature.build(Conversation.SECRET);
        WSSecDKEncrypt encryption = new WSSecDKEncrypt(header);
        encryption.setWscVersion(ConversationConstants.VERSION_05_12);
        encryption.setTokenIdentifier(token.getSctId());
        encryption.setCustomValueType(WSConstants.WSC_SCT_05_12);
        encryption.setSymmetricEncAlgorithm(suite.data());
        encryption.getParts().addAll(Envelopes.parts(encrypted, document, true));
        encryption.build(Conversation.SECRET);
        token.prependSCTElementToHeader();
    }

    private void name(WSSecHeader header) {
        WSSecUsernameToken token = new WSSecUsernameToken(header);
        boolean digest = mechanism == Mechanism.USERNAME_DIGEST;
        token.setPasswordType(digest ? WSConstants.PASSWORD_DIGEST : WSConstants.PASSWORD_TEXT);
        token.setUserInfo(user, password);
        token.addNonce();
        token.addCreated();
        token.build();
    }

    private void sign(WSSecHeader header, Document document) throws WSSecurityException {
        WSSecSignature signature = new WSSecSignature(header);
        signature.setUserInfo(Keys.OURS, Keys.STORE_PASSWORD);
        signature.setKeyIdentifierType(signatureReference);
        signature.setUseSingleCertificate(!path);
        signature.setIncludeSignatureToken(token);
        signature.setSignatureAlgorithm(suite.signature());
        signature.setDigestAlgo(suite.digest());
        signature.setSigCanonicalization(Suite.EXCLUSIVE);
        signature.getParts().addAll(Envelopes.parts(signed, document, false));
        if (attachmentsSigned != null) {
            signature.setAttachmentCallbackHandler(attachments);
            signature.getParts().add(Attachments.part(attachmentsSigned));
        }
        signature.build(crypto);
    }

    private void encrypt(WSSecHeader header, Document document) throws WSSecurityException {
        WSSecEncrypt encryption = new WSSecEncrypt(header);
        encryption.setUserInfo(Keys.PEER);
        encryption.setKeyIdentifierType(encryptionReference);
        encryption.setSymmetricEncAlgorithm(suite.data());
        encryption.setKeyEncAlgo(suite.keyTransport());
        if (suite.oaepDigest() != null) {
            encryption.setDigestAlgorithm(suite.oaepDigest());
            encryption.setMGFAlgorithm(suite.oaepMask());
        }
        if (suite.keyAgreement() != null) {
            encryption.setKeyAgreementMethod(suite.keyAgreement());
            encryption.setKeyDerivationMethod(suite.keyDerivation());
        }
        encryption.getParts().addAll(Envelopes.parts(encrypted, document, true));
        if (attachmentsEncrypted != null) {
            encryption.setAttachmentCallbackHandler(attachments);
            encryption.getParts().add(Attachments.part(attachmentsEncrypted));
        }
        KeyGenerator generator = KeyUtils.getKeyGenerator(suite.data());
        encryption.build(crypto, generator.generateKey());
    }
}
