package soapstone.interop;

import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;

import javax.security.auth.callback.Callback;

import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.ext.WSPasswordCallback;
import org.apache.wss4j.common.saml.SAMLKeyInfo;
import org.apache.wss4j.common.saml.SamlAssertionWrapper;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.WSDataRef;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.wss4j.dom.engine.WSSecurityEngineResult;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.handler.WSHandlerResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Envelope with an assertion to plain envelope.
 *
 * <p>WSS4J verifies the signatures; that the confirmation is met is decided here, on the elements and keys that it found.
 */
final class AssertionOpening {
    /** The message does not confirm its assertion. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String reason) {
            super(reason);
        }
    }

    private final String confirmation;
    private final String audience;
    private final boolean signs;
    private final Crypto crypto;

    AssertionOpening(Options options) {
        confirmation = options.required("confirmation");
        audience = options.required("audience");
        signs = options.optional("signs", "yes").equals("yes");
        crypto = Keys.crypto(options);
    }

    byte[] open(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        RequestData data = new RequestData();
        data.setWssConfig(WSSConfig.getNewInstance());
        data.setSigVerCrypto(crypto);
        data.setDecCrypto(crypto);
        data.setCallbackHandler(AssertionOpening::password);
        data.setAudienceRestrictions(List.of(audience));
        data.setValidateSamlSubjectConfirmation(false);
        WSHandlerResult result = new WSSecurityEngine().processSecurityHeader(document, data);
        if (result == null) {
            throw new Refused("no Security header");
        }
        WSSecurityEngineResult token = one(result, WSConstants.ST_SIGNED, "signed assertion");
        SamlAssertionWrapper assertion = (SamlAssertionWrapper) token.get(WSSecurityEngineResult.TAG_SAML_ASSERTION);
        if (!assertion.getIssuerString().equals(AssertionIssuer.ISSUER) || !assertion.getConfirmationMethods().get(0).endsWith(confirmation)) {
            throw new Refused("an assertion of another issuer, or with another confirmation");
        }
        if (signs) {
            WSSecurityEngineResult signature = one(result, WSConstants.SIGN, "signature");
            covers(signature, Envelopes.find("Body", document), "Body");
            covers(signature, Envelopes.find("Timestamp", document), "Timestamp");
            if (confirmation.equals("holder-of-key")) {
                holds(assertion.getSubjectKeyInfo(), signature);
            } else {
                covers(signature, assertion.getElement(), "assertion");
            }
        }
        Element security = Envelopes.security(document);
        Node header = security.getParentNode();
        header.getParentNode().removeChild(header);
        return Envelopes.serialize(document, message.length);
    }

    private static WSSecurityEngineResult one(WSHandlerResult result, int action, String what) throws Refused {
        List<WSSecurityEngineResult> found = result.getActionResults().get(action);
        if (found == null || found.size() != 1) {
            throw new Refused("expected one " + what);
        }
        return found.get(0);
    }

    private static void covers(WSSecurityEngineResult signature, Element wanted, String what) throws Refused {
        List<?> references = (List<?>) signature.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
        for (Object reference : references) {
            if (((WSDataRef) reference).getProtectedElement() == wanted) {
                return;
            }
        }
        throw new Refused(what + " is not signed");
    }

    /** The key that the assertion names has signed: that of a certificate, or a symmetric one. */
    private static void holds(SAMLKeyInfo holder, WSSecurityEngineResult signature) throws Refused {
        if (holder == null) {
            throw new Refused("an assertion without the key of a holder");
        }
        X509Certificate signer = (X509Certificate) signature.get(WSSecurityEngineResult.TAG_X509_CERTIFICATE);
        boolean byCertificate = holder.getCerts() != null && holder.getCerts()[0].equals(signer);
        byte[] secret = (byte[]) signature.get(WSSecurityEngineResult.TAG_SECRET);
        boolean bySecret = secret != null && Arrays.equals(secret, holder.getSecret());
        if (!byCertificate && !bySecret) {
            throw new Refused("the signature is not the holder's");
        }
    }

    private static void password(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            ((WSPasswordCallback) callback).setPassword(Keys.STORE_PASSWORD);
        }
    }
}
