package soapstone.interop;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Base64;

import org.apache.cxf.helpers.DOMUtils;
import org.apache.cxf.ws.security.kerberos.KerberosClient;
import org.apache.cxf.ws.security.tokenstore.SecurityToken;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.token.BinarySecurity;
import org.apache.wss4j.common.util.KeyUtils;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.message.token.KerberosSecurity;
import org.apache.wss4j.dom.validate.Credential;
import org.apache.wss4j.dom.validate.KerberosTokenValidator;
import org.w3c.dom.Element;

/** Tokens that are an AP-REQ without the framing of GSS (Kerberos Token Profile 1.1, 3.2), made of those that have it. */
final class RawTickets extends KerberosClient {
    private static final byte APPLICATION = 0x60;
    private static final int LONG_FORM = 0x80;
    private static final int BYTE = 0xff;
    /** The mechanism, and the type of its first token (RFC 4121, 4.1). */
    private static final byte[] MECHANISM = {6, 9, 42, -122, 72, -122, -9, 18, 1, 2, 2, 1, 0};

    @Override
    public SecurityToken requestSecurityToken() throws Exception {
        SecurityToken token = super.requestSecurityToken();
        Element element = token.getToken();
        byte[] request = unframed(Base64.getMimeDecoder().decode(element.getTextContent()));
        element.setTextContent(Base64.getEncoder().encodeToString(request));
        element.setAttributeNS(null, "ValueType", WSConstants.WSS_KRB_V5_AP_REQ);
        token.setTokenType(WSConstants.WSS_KRB_V5_AP_REQ);
        token.setSHA1(Base64.getEncoder().encodeToString(KeyUtils.generateDigest(request)));
        return token;
    }

    /** The GSS library of Java accepts framed tokens. */
    static final class Validator extends KerberosTokenValidator {
        @Override
        public Credential validate(Credential credential, RequestData data) throws WSSecurityException {
            BinarySecurity carried = credential.getBinarySecurityToken();
            KerberosSecurity token = new KerberosSecurity(DOMUtils.createDocument());
            token.setToken(framed(carried.getToken()));
            token.setValueType(WSConstants.WSS_GSS_KRB_V5_AP_REQ);
            Credential framed = new Credential();
            framed.setBinarySecurityToken(token);
            Credential accepted = super.validate(framed, data);
            accepted.setBinarySecurityToken(carried);
            return accepted;
        }
    }

    private static byte[] unframed(byte[] token) {
        int start = 2 + ((token[1] & LONG_FORM) == 0 ? 0 : token[1] & ~LONG_FORM & BYTE);
        int end = start + MECHANISM.length;
        if (token[0] != APPLICATION || !Arrays.equals(token, start, end, MECHANISM, 0, MECHANISM.length)) {
            throw new IllegalArgumentException("expected the framing of GSS with the mechanism of Kerberos");
        }
        return Arrays.copyOfRange(token, end, token.length);
    }

    private static byte[] framed(byte[] request) {
        int length = MECHANISM.length + request.length;
        ByteArrayOutputStream token = new ByteArrayOutputStream();
        token.write(APPLICATION);
        token.write(LONG_FORM + 2);
        token.write(length >> Byte.SIZE);
        token.write(length & BYTE);
        token.writeBytes(MECHANISM);
        token.writeBytes(request);
        return token.toByteArray();
    }
}
