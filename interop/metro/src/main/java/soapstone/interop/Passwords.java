package soapstone.interop;

import com.sun.xml.wss.impl.callback.PasswordValidationCallback;

/** What a service asks about users: it knows the one of the harness, named by the properties of the program. */
public final class Passwords implements PasswordValidationCallback.PasswordValidator {
    @Override
    public boolean validate(PasswordValidationCallback.Request request) throws PasswordValidationCallback.PasswordValidationException {
        if (request instanceof PasswordValidationCallback.PlainTextPasswordRequest plain) {
            return plain.getUsername().equals(System.getProperty("soapstone.user")) && plain.getPassword().equals(System.getProperty("soapstone.password"));
        }
        return false;
    }
}
