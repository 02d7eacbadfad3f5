package soapstone.interop;

import com.sun.xml.wss.impl.callback.PasswordValidationCallback;

/** What a service asks about users whose passwords come as digests. */
public final class Digests extends PasswordValidationCallback.WsitDigestPasswordValidator {
    @Override
    public void setPassword(PasswordValidationCallback.Request request) {
        if (request instanceof PasswordValidationCallback.DigestPasswordRequest digest
            && digest.getUsername().equals(System.getProperty("soapstone.user"))) {
            digest.setPassword(System.getProperty("soapstone.password"));
        }
    }
}
