// Berth needs Node 24, but this file also runs on Node 18. Under an older Node it starts the launcher again with the Node 24
// from the npm packages, and loads the program there.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const wanted = 24
const program = fileURLToPath(import.meta.url)

function packagedNode() {
  const name = `node-${process.platform}-${process.arch}`
  try {
    const manifest = module.createRequire(import.meta.url).resolve(`${name}/package.json`)
    return join(dirname(manifest), 'bin', 'node')
  } catch {
    return null
  }
}

function restartUnder(node) {
  const child = spawn(node, [join(dirname(program), 'berth.js'), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal sends Ctrl-C to both processes, so passing it on would count it twice. Without a terminal, pass it on.
  const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  process.on('SIGINT', () => terminal || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', error => {
    console.error(`berth: cannot start ${node}: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + constants.signals[signal])
  })
}

if (Number.parseInt(process.versions.node, 10) >= wanted) {
  module.enableCompileCache()
  const built = join(dirname(program), '..', 'dist', 'berth.js')
  const entry = existsSync(built) ? built : join(dirname(program), '..', 'src', 'main.ts')
  await import(pathToFileURL(entry).href)
} else {
  const node = packagedNode()
  if (node !== null && node !== process.execPath && existsSync(node)) {
    restartUnder(node)
  } else {
    console.error(
      `berth: Node ${wanted} or newer is required, but this is ${process.versions.node}; \`npm ci\` installs it`,
    )
    process.exitCode = 1
  }
}
