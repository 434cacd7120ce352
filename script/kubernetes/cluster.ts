// Starts a cluster in the namespaces of this process, installs the chart there, and runs a command. script/test-kubernetes
// makes the namespaces. Run as: node script/kubernetes/cluster.ts <programs> <name of the run> [command]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installChart } from './chart-in-cluster.ts'
import { API, type Places } from './configuration.ts'
import { ControlPlane } from './control-plane.ts'
import { makeImages, SANDBOX_IMAGE, SERVICE_IMAGE } from './images.ts'

const [programs = '', name = '', ...given] = process.argv.slice(2)
// The name becomes that of a directory which is filled and removed.
if (programs === '' || !/^[a-z0-9][a-z0-9-]*$/.test(name)) {
  throw new Error('usage: node script/kubernetes/cluster.ts <programs> <name of the run> [command]')
}
const places: Places = { programs, directory: join('/var/tmp', name), group: name }
const repository = join(import.meta.dirname, '../..')
const begun = Date.now()
const say = (message: string) => console.error(`cluster: ${message} (${((Date.now() - begun) / 1000).toFixed(0)} s)`)

const plane = await ControlPlane.start(places)
say('the node is ready')
for (const archive of await makeImages(places.directory, programs)) plane.addImage(archive)
say('the images are there')
const variables = await installChart(plane.api, places.directory)
say('the chart is installed')

const tests = ['vitest', 'run', '--config', 'packages/kubernetes/test/vitest.config.ts']
const [program = '', ...args] = given.length > 0 ? given : tests
const child = spawn(program, args, {
  cwd: repository,
  stdio: 'inherit',
  env: {
    ...process.env,
    // Tests look below the usual directory for what ended runs have left; the processes of others cannot be seen from here.
    TMPDIR: plane.temporary,
    BERTH_TEST_CLUSTER: JSON.stringify({
      ...{ api: API, directory: places.directory, image: SANDBOX_IMAGE, hostImage: SERVICE_IMAGE, variables },
    }),
  },
})
const [code] = (await once(child, 'exit')) as [number | null]
if (code !== 0) {
  for (const path of globSync('/var/log/pods/*/*/*.log')) {
    const lines = readFileSync(path, 'utf8').trim().split('\n').slice(-5)
    console.error([`cluster: ${path}`, ...lines].join('\n  '))
  }
}
process.exit(code ?? 1)
