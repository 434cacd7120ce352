import { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { SandboxTrust } from '../driver.ts'
import { trustNames } from '../inside-paths.ts'
import { javaTrustStore } from './java-trust-store.ts'
import { makeVisibleDirectory, writeVisibleFile } from './visible-files.ts'

/** Where systems have the authorities that they trust, all in one file. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
] as const

/** A system's own file of authorities. */
export interface SystemBundle {
  /** Where the system has it; absent: it has none, and Node's authorities stand for its own. */
  readonly path?: string
  readonly text: string
}

/** Returns the authorities that this machine trusts. */
export function systemBundle(): SystemBundle {
  const path = systemBundles.find(existsSync)
  if (path === undefined) return { text: rootCertificates.join('\n') }
  return { path: realpathSync(path), text: readFileSync(path, 'utf8') }
}

/**
 * Returns the authorities that a layer of system packages trusts; this machine's if it has none of its own.
 * @param layer its directory, in which a link could lead anywhere: neither the file nor a directory above it may be one
 */
export function layerBundle(layer: string): SystemBundle {
  const root = realpathSync(layer)
  const path = systemBundles.find(one => {
    const file = join(root, one)
    return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true && realpathSync(file) === file
  })
  if (path === undefined) return { text: systemBundle().text }
  return { path, text: readFileSync(join(layer, path), 'utf8') }
}

/** Returns the whole of what a sandbox trusts: the authorities of its system, and its own. */
export function bundleOf({ text }: Pick<SystemBundle, 'text'>, { certificate }: SandboxTrust): string {
  return `${text.trimEnd()}\n${certificate.trimEnd()}\n`
}

/**
 * Writes what a sandbox trusts, in every form that programs read, below the directory that it sees as `insidePaths.run`.
 * All of it is public.
 */
export function writeTrust(runDir: string, system: SystemBundle, trust: SandboxTrust): void {
  if (!/^[0-9a-f]{8}$/.test(trust.hash)) throw new TypeError('not the hash of a name')
  const directory = join(runDir, trustNames.directory)
  const certificates = join(directory, trustNames.certificates)
  makeVisibleDirectory(directory)
  makeVisibleDirectory(certificates)
  const bundle = bundleOf(system, trust)
  writeVisibleFile(join(certificates, trustNames.bundle), bundle)
  // The name by which OpenSSL finds an authority in a directory.
  writeVisibleFile(join(certificates, `${trust.hash}.0`), trust.certificate)
  writeVisibleFile(join(directory, trustNames.java), javaTrustStore(bundle))
}

/** Returns where the host has the file of all authorities that a sandbox trusts. */
export const bundleFile = (runDir: string): string =>
  join(runDir, trustNames.directory, trustNames.certificates, trustNames.bundle)

/** Replaces the content of a file that a sandbox sees already. */
export function overwriteInPlace(path: string, content: string): void {
  writeFileSync(path, content)
}
