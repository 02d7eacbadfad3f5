package soapstone.interop;

import java.nio.file.Path;

import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.xml.parsers.DocumentBuilderFactory;

import com.sun.xml.wss.impl.callback.SAMLCallback;
import org.w3c.dom.Element;

/** Shows an assertion where a policy wants one: {@code --assertion FILE [--holder true]} of the call that is made. */
public final class Showing implements CallbackHandler {
    private static Options call;

    /** From now on calls are as these options say. */
    static void as(Options options) {
        call = options;
    }

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (!(callback instanceof SAMLCallback asked)) {
                throw new UnsupportedCallbackException(callback);
            }
            Element assertion = assertion();
            asked.setAssertionElement(assertion);
            asked.setAssertionId(assertion.hasAttribute("ID") ? assertion.getAttribute("ID") : assertion.getAttribute("AssertionID"));
            asked.setConfirmationMethod(call.is("holder") ? SAMLCallback.HOK_ASSERTION_TYPE : SAMLCallback.SV_ASSERTION_TYPE);
        }
    }

    private static Element assertion() {
        try {
            DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
            factory.setNamespaceAware(true);
            return factory.newDocumentBuilder().parse(Path.of(call.required("assertion")).toFile()).getDocumentElement();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
