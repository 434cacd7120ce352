import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A package's entry in the lock file. */
interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
}

/** A package in CycloneDX. */
interface Component {
  readonly type: 'library'
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses?: readonly [{ readonly expression: string }]
  readonly hashes?: readonly [{ readonly alg: 'SHA-512'; readonly content: string }]
}

/**
 * Returns the bill of materials of a deployment's packages from npm, as CycloneDX: each production dependency with
 * version, licence and digest, those for other platforms among them.
 *
 * It reads the lock file. `npm sbom --omit dev` leaves out a package of the service as soon as a test needs it as well, and
 * without `--omit` npm refuses trees in which two tools of development disagree.
 *
 * @param system components that an image has besides
 */
export function billOfMaterials(checkout: string, version: string, system: readonly Component[] = []) {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(checkout, 'package-lock.json'), 'utf8'),
  )
  const installed = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.includes('node_modules/') && dev !== true && link !== true,
  )
  const components = installed.map(([path, locked]) => componentOf(path, locked))
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name: 'berth', version, purl: `pkg:generic/berth@${version}` } },
    components: [...components, ...system],
  } as const
}

/** Returns the components of a system, from lines of package, version and architecture as `dpkg-query --show` prints them. */
export function systemComponents(list: string): readonly Component[] {
  const lines = list.trim().split('\n')
  return [...new Set(lines)].map(line => {
    const [name = '', version = '', architecture = ''] = line.split('\t')
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`
    return { type: 'library', name, version, purl }
  })
}

function componentOf(path: string, { version = '', license, integrity = '' }: Locked): Component {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const [, digest] = /^sha512-(\S+)$/.exec(integrity) ?? []
  return {
    ...{ type: 'library', name, version, purl: `pkg:npm/${name.replace('@', '%40')}@${version}` },
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    ...(digest !== undefined && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    }),
  }
}
