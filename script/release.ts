/**
 * Makes the files of a release from a clean checkout, and prints the commands that publish them. It publishes nothing.
 *
 *   node script/release.ts [folder]     by default dist/release
 */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { noHelm, packageChart } from './lib/helm.ts'
import { targetFolder } from './lib/target-folder.ts'
import { makeCliPackage } from './pack/cli-package.ts'
import { makeClientPackage } from './pack/client-package.ts'
import { root } from './pack/package-folder.ts'
import { billOfMaterials } from './release/bill-of-materials.ts'
import { notesOf, requireFit, Unfit } from './release/fitness.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version }: { version: string } = JSON.parse(read('package.json'))
const folder = targetFolder('script/release.ts', join(root, 'dist/release'))
const at = (name: string) => join(folder, name)

/** Packs a package as npm publishes it, and returns the file's name. */
async function packed(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  await make(at(name))
  const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder, at(name)], { encoding: 'utf8' })
  rmSync(at(name), { recursive: true })
  const [pack]: { filename: string }[] = Object.values(JSON.parse(printed))
  if (pack === undefined) throw new Error(`npm packed nothing of ${name}`)
  return pack.filename
}

try {
  requireFit(root, version)
  const notes = notesOf(read('CHANGELOG.md'), version)
  if (noHelm !== undefined) throw new Unfit(noHelm)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(at('notes.md'), notes)
  writeFileSync(at('sbom.cdx.json'), `${JSON.stringify(billOfMaterials(root, version), null, 2)}\n`)
  const source = at(`berth-${version}.tar.gz`)
  execFileSync('git', ['archive', `--prefix=berth-${version}/`, `--output=${source}`, 'HEAD'], { cwd: root })
  const packages = [await packed('client', makeClientPackage), await packed('cli', makeCliPackage)]
  const chartFile = packageChart(folder)
  const files = readdirSync(folder).sort()
  writeFileSync(at('SHA256SUMS'), files.map(name => `${hash('sha256', readFileSync(at(name)))}  ${name}\n`).join(''))
  process.stdout.write(`made ${folder}: ${files.join(', ')}, SHA256SUMS

To publish:
  git tag --annotate v${version} --file ${at('notes.md')} && git push origin v${version}
${packages.map(name => `  npm publish --access public ${at(name)}`).join('\n')}
  helm push ${at(chartFile)} oci://<registry>
  for target in service sandbox; do
    podman build --format docker -f deploy/image/Containerfile --target $target \\
      --build-arg REVISION=$(git rev-parse HEAD) -t <registry>/berth-$target:${version} .
    podman push <registry>/berth-$target:${version}
  done
`)
} catch (error) {
  if (!(error instanceof Unfit)) throw error
  console.error(`no release: ${error.message}`)
  process.exitCode = 1
}
