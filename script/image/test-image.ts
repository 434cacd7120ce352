/** Builds the images, measures the service's, and runs it; script/test-image starts it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { liveInContainer } from './life.ts'
import { buildImage, looseLayers, podman, removeLayers, runInContainer, sizeOf } from './podman.ts'
import { makeBase, makeNode } from './stand-ins.ts'

const root = join(import.meta.dirname, '../..')
/** A fifth more than Node's slim image with PostgreSQL's binaries, which have 285 MB. */
const MOST_MB = 342
const tag = `test-${process.pid}`
const image = (name: string) => `localhost/berth-${name}:${tag}`
const images = { base: image('base'), node: image('node'), service: image('service'), sandbox: image('sandbox') }
const place = mkdtempSync(join(tmpdir(), 'berth-image-'))
const before = looseLayers()
const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  makeBase(images.base, place)
  mkdirSync(join(place, 'node'))
  makeNode(images.node, images.base, join(place, 'node'))
  const revision = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  const sources = [`BASE=${images.base}`, `NODE=${images.node}`, `REVISION=${revision}`]
  const given = sources.flatMap(source => ['--build-arg', source])
  // A build gets packages from Debian and npm.
  const containerfile = ['--network=host', '--file', join(root, 'deploy/image/Containerfile')]
  buildImage(images.service, root, ...containerfile, ...given, '--target=service')
  print('built the image of the service')
  const withoutTools = ['--build-arg', 'PACKAGES=', '--target=sandbox']
  buildImage(images.sandbox, root, ...containerfile, ...given, ...withoutTools)
  assert.equal(runInContainer(images.sandbox, '/opt/berth/node', '--version'), process.version)
  print('built the image of sandboxes, without tools')
  await liveInContainer(images.service, revision, print)
  const megabytes = Math.round(sizeOf(images.service) / 1e6)
  print(`the image of the service has ${megabytes} MB`)
  assert.ok(megabytes <= MOST_MB, `at most ${MOST_MB} MB`)
} finally {
  for (const name of Object.values(images)) podman('rmi', '--force', '--ignore', name)
  // Images of others stay, so without a list of them everything does.
  if (before !== undefined) removeLayers((looseLayers() ?? []).filter(layer => !before.includes(layer)))
  rmSync(place, { recursive: true, force: true })
}
