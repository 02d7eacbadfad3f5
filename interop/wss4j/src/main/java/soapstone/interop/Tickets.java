package soapstone.interop;

import java.util.List;

import javax.crypto.SecretKey;

import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.util.KeyUtils;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.wss4j.dom.engine.WSSecurityEngineResult;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.handler.WSHandlerResult;
import org.apache.wss4j.dom.message.WSSecEncrypt;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecSignature;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.apache.wss4j.dom.message.token.KerberosSecurity;
import org.apache.wss4j.dom.util.WSSecurityUtil;
import org.apache.wss4j.dom.validate.KerberosTokenValidator;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Messages that the session key of a Kerberos token signs and encrypts, by the GSS library of Java. */
final class Tickets {
    /** Entries of the JAAS file. */
    private static final String CLIENT = "client";
    private static final String SERVICE = "service";
    private static final int LIFETIME_SECONDS = 300;

    private final Suite suite;
    private final String service;
    private final boolean encrypts;

    Tickets(Options options) {
        suite = Suite.of(options);
        service = options.required("service");
        encrypts = options.required("mechanism").equals("sign-encrypt");
    }

    byte[] secure(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        WSSecHeader header = new WSSecHeader(document);
        header.insertSecurityHeader();
        WSSecTimestamp timestamp = new WSSecTimestamp(header);
        timestamp.setTimeToLive(LIFETIME_SECONDS);
        timestamp.build();
        KerberosSecurity token = new KerberosSecurity(document);
        token.retrieveServiceTicket(CLIENT, null, service, true, false, null);
        token.setID("ticket");
        SecretKey key = token.getSecretKey();
        sign(header, document, token, key);
        if (encrypts) {
            encrypt(header, document, token, key);
        }
        WSSecurityUtil.prependChildElement(header.getSecurityHeaderElement(), token.getElement());
        return Envelopes.serialize(document, message.length * 3 / 2 + 8192);
    }

    private void sign(WSSecHeader header, Document document, KerberosSecurity token, SecretKey key)
        throws WSSecurityException {
        WSSecSignature signature = new WSSecSignature(header);
        signature.setSignatureAlgorithm(suite.symmetricSignature());
        signature.setDigestAlgo(suite.digest());
        signature.setKeyIdentifierType(WSConstants.CUSTOM_SYMM_SIGNING);
        signature.setCustomTokenId(token.getID());
        signature.setCustomTokenValueType(WSConstants.WSS_GSS_KRB_V5_AP_REQ);
        signature.setSecretKey(key.getEncoded());
        signature.getParts().addAll(Envelopes.parts("Body,Timestamp", document, false));
        signature.build(null);
    }

    private void encrypt(WSSecHeader header, Document document, KerberosSecurity token, SecretKey key)
        throws WSSecurityException {
        WSSecEncrypt encryption = new WSSecEncrypt(header);
        encryption.setSymmetricEncAlgorithm(suite.data());
        encryption.setCustomReferenceValue(WSConstants.WSS_GSS_KRB_V5_AP_REQ);
        encryption.setEncKeyId(token.getID());
        encryption.setEncryptSymmKey(false);
        encryption.getParts().addAll(Envelopes.parts("Body", document, true));
        // A longer key would be that of another algorithm than the one that is named.
        encryption.build(null, KeyUtils.prepareSecretKey(suite.data(), key.getEncoded()));
    }

    byte[] open(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        WSSecurityEngine engine = new WSSecurityEngine();
        WSSConfig config = WSSConfig.getNewInstance();
        KerberosTokenValidator validator = new KerberosTokenValidator();
        validator.setContextName(SERVICE);
        validator.setServiceName(service);
        validator.setUsernameServiceNameForm(true);
        config.setValidator(WSConstants.BINARY_TOKEN, validator);
        engine.setWssConfig(config);
        RequestData data = new RequestData();
        data.setWssConfig(config);
        data.setRequireTimestampExpires(true);
        WSHandlerResult result = engine.processSecurityHeader(document, data);
        if (result == null) {
            throw new Opening.Refused("no Security header");
        }
        check(result.getResults(), document);
        Element security = Envelopes.security(document);
        security.getParentNode().removeChild(security);
        return Envelopes.serialize(document, message.length + 1024);
    }

    private void check(List<WSSecurityEngineResult> results, Document document) throws Opening.Refused {
        Opening.require(results, WSConstants.BST, "Kerberos token");
        Opening.require(results, WSConstants.TS, "Timestamp");
        for (String name : List.of("Body", "Timestamp")) {
            if (!Opening.covered(results, WSConstants.SIGN, Envelopes.find(name, document), false)) {
                throw new Opening.Refused(name + " is not signed");
            }
        }
        if (encrypts && !Opening.covered(results, WSConstants.ENCR, Envelopes.find("Body", document), true)) {
            throw new Opening.Refused("Body was not encrypted");
        }
    }
}
