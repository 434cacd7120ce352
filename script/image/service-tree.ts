/**
 * Lays out the files that the image of the service adds to its system (deploy/image/Containerfile): Berth in /opt/berth,
 * and Node, npm and the command below /usr/local.
 *
 *   node script/image/service-tree.ts <folder> <list of the system's packages>
 */
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { billOfMaterials, systemComponents } from '../release/bill-of-materials.ts'
import { layOut } from './lay-out.ts'
import { serviceFiles } from './service-files.ts'

const root = join(import.meta.dirname, '../..')
const [folder = '-', packages, ...more] = process.argv.slice(2)
if (folder.startsWith('-') || packages === undefined || more.length > 0) {
  throw new Error('usage: node script/image/service-tree.ts <folder> <list of packages>')
}
const berth = resolve(folder, 'opt/berth')
const local = resolve(folder, 'usr/local')

for (const path of await serviceFiles(root)) layOut(join(root, path), join(berth, path))
layOut(join(root, 'deploy/image/health.js'), join(berth, 'health.js'))
const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const bill = billOfMaterials(root, version, systemComponents(readFileSync(packages, 'utf8')))
writeFileSync(join(berth, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`)

const node = join(local, 'bin/node')
layOut(process.execPath, node)
// Names of functions for debuggers of native code take 18 MB. As in Debian's packages, those stay that addons link with.
execFileSync('strip', ['--strip-unneeded', node])
symlinkSync('/opt/berth/packages/cli/bin/berth.js', join(local, 'bin/berth'))
// `berth runtimes install` calls npm. Its manuals stay behind.
const npm = '/usr/local/lib/node_modules/npm'
cpSync(npm, join(local, 'lib/node_modules/npm'), {
  recursive: true,
  verbatimSymlinks: true,
  filter: path => path !== join(npm, 'docs') && path !== join(npm, 'man'),
})
symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
