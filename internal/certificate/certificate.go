// Package certificate makes the certificates of brokers under test.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files are a broker's certificate, its key, and the certificate of the authority
// that signed it. Clients trust that authority. All are PEM.
type Files struct{ CA, Cert, Key string }

// Write makes an authority and a certificate for hosts, addresses and names, in
// a folder that exists. The authority's key is forgotten.
func Write(dir string, hosts ...string) (Files, error) {
	f := Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	if err := f.write(hosts); err != nil {
		return f, fmt.Errorf("make a certificate: %w", err)
	}
	return f, nil
}

func (f Files) write(hosts []string) error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := template("rmq-mcp test authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	cert := template("rmq-mcp test broker")
	cert.KeyUsage, cert.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range append(hosts, "localhost") {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(f.CA, 0o644, "CERTIFICATE", caDER); err != nil {
		return err
	}
	if err := writePEM(f.Cert, 0o644, "CERTIFICATE", der); err != nil {
		return err
	}
	return writePEM(f.Key, 0o600, "PRIVATE KEY", keyDER)
}

// template is valid for a year, and yesterday: a node's clock may be set back.
func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
	}
}

func writePEM(path string, mode os.FileMode, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
