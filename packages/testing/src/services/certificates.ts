import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate for one name, its key, and the authority that signed it, all in PEM. */
export interface Certificate {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Makes a certificate authority of its own, and a certificate of it for a name. */
export function makeCertificate(name: string): Certificate {
  const dir = mkdtempSync(join(tmpdir(), 'berth-certificates-'))
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  try {
    openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test authority')
    openssl('req', ...newKey.slice(0, 5), '-keyout', 'key.pem', '-out', 'request.pem', '-subj', `/CN=${name}`)
    writeFileSync(join(dir, 'names'), `subjectAltName=DNS:${name}\n`)
    const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
    openssl('x509', '-req', '-in', 'request.pem', '-out', 'cert.pem', ...signer)
    const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map(file => readFileSync(join(dir, file), 'utf8'))
    return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' }
  } finally {
    rmSync(dir, { recursive: true })
  }
}
