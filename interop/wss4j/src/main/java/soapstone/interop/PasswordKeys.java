package soapstone.interop;

import java.util.Arrays;
import java.util.List;

import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.derivedKey.ConversationConstants;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.token.Reference;
import org.apache.wss4j.common.token.SecurityTokenReference;
import org.apache.wss4j.common.util.UsernameTokenUtil;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.message.WSSecDKEncrypt;
import org.apache.wss4j.dom.message.WSSecDKSign;
import org.apache.wss4j.dom.message.WSSecEncrypt;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecSignature;
import org.apache.wss4j.dom.message.WSSecUsernameToken;
import org.w3c.dom.Document;

/** Signs and encrypts with keys from a password (UsernameToken Profile 1.1.1, 4): as they are, or with keys derived from them. */
final class PasswordKeys {
    /** The longest signature key that is derived from another one, in bits (WS-SecurityPolicy 1.3, 6.1). */
    private static final int SIGNATURE_BITS = 192;

    private final Suite suite;
    private final boolean derived;
    private final int iterations;
    private final String user;
    private final String password;

    PasswordKeys(Options options, Suite suite) {
        this.suite = suite;
        derived = options.required("password-keys").equals("derived");
        iterations = Integer.parseInt(options.optional("iterations", "1000"));
        user = options.required("user");
        password = options.required("password");
    }

    /** A key of its own, with the token that says how it comes from the password. */
    private final class Key {
        private final WSSecUsernameToken token;
        private final byte[] secret;

        Key(WSSecHeader header, boolean mac) throws WSSecurityException {
            token = new WSSecUsernameToken(header);
            token.setUserInfo(user, password);
            token.addDerivedKey(iterations);
            byte[] salt = UsernameTokenUtil.generateSalt(mac);
            token.prepare(salt);
            secret = token.getDerivedKey(salt);
        }
    }

    void protect(WSSecHeader header, Document document, Mechanism mechanism, String signed, String encrypted) throws WSSecurityException {
        Key mac = new Key(header, true);
        // What it covers has to be in the header; what it encrypts, and what encrypts, stands in front of it.
        mac.token.prependToHeader();
        Key own = derived || !mechanism.encrypts() ? mac : new Key(header, false);
        List<WSEncryptionPart> hidden = Envelopes.parts(encrypted, document, true);
        if (mechanism == Mechanism.ENCRYPT_SIGN) {
            encrypt(header, own, hidden);
        }
        sign(header, mac, Envelopes.parts(signed, document, false));
        if (mechanism == Mechanism.SIGN_ENCRYPT) {
            encrypt(header, own, hidden);
        }
        if (own != mac) {
            own.token.prependToHeader();
        }
        // In front of all that names it.
        header.getSecurityHeaderElement().removeChild(mac.token.getUsernameTokenElement());
        mac.token.prependToHeader();
    }

    private void sign(WSSecHeader header, Key key, List<WSEncryptionPart> parts) throws WSSecurityException {
        if (derived) {
            WSSecDKSign signature = new WSSecDKSign(header);
            signature.setWscVersion(ConversationConstants.VERSION_05_12);
            signature.setTokenIdentifier(key.token.getId());
            signature.setCustomValueType(WSConstants.WSS_USERNAME_TOKEN_VALUE_TYPE);
            signature.setSignatureAlgorithm(suite.symmetricSignature());
            signature.setDigestAlgorithm(suite.digest());
            signature.setDerivedKeyLength(Math.min(suite.keyBits(), SIGNATURE_BITS) / Byte.SIZE);
            signature.getParts().addAll(parts);
            signature.build(key.secret);
            return;
        }
        WSSecSignature signature = new WSSecSignature(header);
        signature.setCustomTokenValueType(WSConstants.WSS_USERNAME_TOKEN_VALUE_TYPE);
        signature.setCustomTokenId(key.token.getId());
        signature.setSecretKey(key.secret);
        signature.setKeyIdentifierType(WSConstants.CUSTOM_SYMM_SIGNING);
        signature.setSignatureAlgorithm(suite.symmetricSignature());
        signature.setDigestAlgo(suite.digest());
        signature.setSigCanonicalization(Suite.EXCLUSIVE);
        signature.getParts().addAll(parts);
        signature.build(null);
    }

    private void encrypt(WSSecHeader header, Key key, List<WSEncryptionPart> parts) throws WSSecurityException {
        if (derived) {
            WSSecDKEncrypt encryption = new WSSecDKEncrypt(header);
            encryption.setWscVersion(ConversationConstants.VERSION_05_12);
            encryption.setTokenIdentifier(key.token.getId());
            encryption.setCustomValueType(WSConstants.WSS_USERNAME_TOKEN_VALUE_TYPE);
            encryption.setSymmetricEncAlgorithm(suite.data());
            encryption.getParts().addAll(parts);
            encryption.build(key.secret);
            return;
        }
        WSSecEncrypt encryption = new WSSecEncrypt(header);
        Reference reference = new Reference(header.getSecurityHeaderElement().getOwnerDocument());
        reference.setURI("#" + key.token.getId());
        reference.setValueType(WSConstants.WSS_USERNAME_TOKEN_VALUE_TYPE);
        SecurityTokenReference named = new SecurityTokenReference(header.getSecurityHeaderElement().getOwnerDocument());
        named.setReference(reference);
        encryption.setSecurityTokenReference(named);
        encryption.setEncryptSymmKey(false);
        encryption.setSymmetricEncAlgorithm(suite.data());
        encryption.getParts().addAll(parts);
        byte[] first = Arrays.copyOf(key.secret, suite.keyBits() / Byte.SIZE);
        SecretKey secret = new SecretKeySpec(first, "AES");
        encryption.build(null, secret);
    }
}
