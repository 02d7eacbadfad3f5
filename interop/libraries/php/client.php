<?php
// wse-php with the options that a call wants: one call of Echo, told in one line of JSON. The
// third argument is the folder with its `autoload.php`.

use RobRichards\WsePhp\WSSESoap;
use RobRichards\XMLSecLibs\XMLSecurityDSig;
use RobRichards\XMLSecLibs\XMLSecurityKey;

const SOAP = [
    '11' => 'http://schemas.xmlsoap.org/soap/envelope/',
    '12' => 'http://www.w3.org/2003/05/soap-envelope',
];

/** The request as PHP's DOM has it: Echo, or the message of a file. */
function request(array $wanted): DOMDocument
{
    $document = new DOMDocument();
    if (isset($wanted['plain'])) {
        $document->load($wanted['plain']);
        return $document;
    }
    $soap = SOAP[$wanted['soap']];
    $text = htmlspecialchars($wanted['text'], ENT_XML1);
    $to = '<a:To xmlns:a="http://www.w3.org/2005/08/addressing">http://localhost/echo</a:To>';
    $body = "<e:Echo xmlns:e=\"{$wanted['namespace']}\"><e:text>$text</e:text></e:Echo>";
    $document->loadXML("<s:Envelope xmlns:s=\"$soap\"><s:Header>$to</s:Header><s:Body>$body</s:Body></s:Envelope>");
    return $document;
}

/** Signs with the client's key, which a token or a subject key identifier names. */
function sign(WSSESoap $message, array $wanted): void
{
    $certificate = file_get_contents($wanted['certificate']);
    // wse-php asks the key for its certificate, and a private key has none.
    $key = new class ($wanted['signature'] ?? XMLSecurityKey::RSA_SHA256, ['type' => 'private']) extends XMLSecurityKey {
        public string $certificate;

        public function getX509Certificate()
        {
            return $this->certificate;
        }
    };
    $key->certificate = $certificate;
    $key->loadKey($wanted['key'], true);
    $options = ['algorithm' => $wanted['digest'] ?? XMLSecurityDSig::SHA256];
    $options += $wanted['options'] ?? [];
    if (isset($options['KeyInfo'])) {
        $message->signSoapDoc($key, $options);
        return;
    }
    if ($wanted['signs_token'] ?? false) {
        $token = $message->addBinaryToken($certificate);
        $message->signSoapDoc($key, $options);
    } else {
        $message->signSoapDoc($key, $options);
        $token = $message->addBinaryToken($certificate);
    }
    $message->attachTokentoSig($token);
}

/** Encrypts the Body, and the signature unless it is to stay, for the service. */
function encrypt(WSSESoap $message, array $wanted): void
{
    $transport = new XMLSecurityKey($wanted['transport'] ?? XMLSecurityKey::RSA_OAEP_MGF1P, ['type' => 'public']);
    $transport->loadKey($wanted['peer'], true, true);
    $session = new XMLSecurityKey($wanted['cipher']);
    $session->generateSessionKey();
    $named = ['KeyInfo' => ['X509SubjectKeyIdentifier' => true]];
    $message->encryptSoapDoc($transport, $session, $named, $wanted['encrypts_signature'] ?? true);
}

/** The message with all that the call wants. */
function secured(array $wanted): string
{
    $message = new WSSESoap(request($wanted));
    $message->signAllHeaders = $wanted['signs_all_headers'] ?? false;
    if ($wanted['timestamp'] ?? true) {
        $message->addTimestamp($wanted['seconds'] ?? 300);
    }
    if ($wanted['shows_user'] ?? false) {
        $message->addUserToken($wanted['user'], $wanted['password'], $wanted['hashes'] ?? false);
    }
    if ($wanted['signs'] ?? true) {
        sign($message, $wanted);
    }
    if (isset($wanted['cipher'])) {
        encrypt($message, $wanted);
    }
    return $message->saveXML();
}

/** The outcome of a call: the answer has our text or cipher text, or is a fault. */
function call(string $address, array $wanted): array
{
    $types = ['11' => "text/xml; charset=utf-8\r\nSOAPAction: \"\"", '12' => 'application/soap+xml; charset=utf-8'];
    $http = [
        'method' => 'POST',
        'header' => 'Content-Type: ' . $types[$wanted['soap']],
        'content' => secured($wanted),
        'ignore_errors' => true,
        'timeout' => 30,
    ];
    $answer = file_get_contents($address, false, stream_context_create(['http' => $http]));
    $document = new DOMDocument();
    if ($answer === false || !$document->loadXML($answer)) {
        return ['passed' => false, 'error' => "no XML: $answer"];
    }
    if ($document->getElementsByTagNameNS(SOAP[$wanted['soap']], 'Fault')->length > 0) {
        return ['passed' => false, 'fault' => true, 'error' => $document->documentElement->textContent];
    }
    if (isset($wanted['cipher'])) {
        $hidden = $document->getElementsByTagNameNS('http://www.w3.org/2001/04/xmlenc#', 'EncryptedData')->length;
        return ['passed' => $hidden > 0, 'error' => $answer];
    }
    $text = $document->getElementsByTagNameNS($wanted['namespace'], 'text')->item(0);
    $passed = $text !== null && $text->textContent === $wanted['text'];
    return $passed ? ['passed' => true] : ['passed' => false, 'error' => $answer];
}

try {
    require $argv[3] . '/autoload.php';
    $wanted = json_decode($argv[2], true, 32, JSON_THROW_ON_ERROR);
    $result = ($wanted['only_writes'] ?? false)
        ? ['passed' => true, 'message' => base64_encode(secured($wanted))]
        : call($argv[1], $wanted);
} catch (Throwable $error) {
    $result = ['passed' => false, 'error' => get_class($error) . ': ' . $error->getMessage()];
}
echo json_encode($result), "\n";
