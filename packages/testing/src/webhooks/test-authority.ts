import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate with its key, as PEM. */
export interface Certified {
  readonly cert: string
  readonly key: string
}

/** A certificate authority that nobody but a test trusts. */
export class TestAuthority {
  readonly ca: string
  readonly #directory = mkdtempSync(join(tmpdir(), 'berth-ca-'))

  constructor() {
    this.#openssl('req', '-x509', ...newKey('ca'), '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Test authority')
    this.ca = this.#read('ca.pem')
  }

  /** Certifies names, such as `hooks.example.com`. */
  certify(...names: readonly string[]): Certified {
    const alternatives = names.map(name => `DNS:${name}`).join(',')
    writeFileSync(join(this.#directory, 'names'), `subjectAltName=${alternatives}`)
    this.#openssl('req', ...newKey('leaf'), '-out', 'leaf.csr', '-subj', `/CN=${names[0]}`)
    const signing = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2']
    this.#openssl('x509', '-req', '-in', 'leaf.csr', '-out', 'leaf.pem', ...signing)
    return { cert: this.#read('leaf.pem'), key: this.#read('leaf.key') }
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.#directory, stdio: 'pipe' })
  }

  #read(file: string): string {
    return readFileSync(join(this.#directory, file), 'utf8')
  }
}

const newKey = (name: string) => [
  ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
  ...['-keyout', `${name}.key`],
]
