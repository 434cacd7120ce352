import { execFileSync, spawnSync } from 'node:child_process'

/** Bounds that podman would raise above those of this process, which not every root may. */
const limits = ['nofile=16384:16384', 'nproc=16384:16384', 'core=0:0'].flatMap(limit => ['--ulimit', limit])
// Without systemd there is no other manager of cgroups.
const engine = ['--cgroup-manager=cgroupfs']

/** Runs podman and returns its output. @throws Error if it fails */
export function podman(...args: readonly string[]): string {
  return execFileSync('podman', [...engine, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
}

/** Returns whether podman succeeds, and prints nothing. */
export function podmanSucceeds(...args: readonly string[]): boolean {
  return spawnSync('podman', [...engine, ...args], { stdio: 'ignore' }).status === 0
}

/** Builds an image, and shows how far it is. Its layers are kept for the next build, until {@link removeLayers}. */
export function buildImage(name: string, context: string, ...args: readonly string[]): void {
  const build = ['build', '--layers', '--format=docker', '--tag', name, ...limits, ...args, context]
  execFileSync('podman', [...engine, ...build], { stdio: ['ignore', 2, 2] })
}

/**
 * Returns the layers of builds that no image has; undefined if podman cannot tell, because somebody else removes images at
 * this moment.
 */
export function looseLayers(): readonly string[] | undefined {
  const args = ['images', '--all', '--quiet', '--no-trunc', '--filter=dangling=true']
  const { status, stdout } = spawnSync('podman', [...engine, ...args], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter(Boolean) : undefined
}

/** Removes layers, the newest first, since one may be the ground of another. */
export function removeLayers(layers: readonly string[]): void {
  for (const layer of layers) podmanSucceeds('rmi', layer)
}

/** Runs a command in a container that has no network but its own loopback, and returns its output. */
export function runInContainer(image: string, ...command: readonly string[]): string {
  return podman('run', '--rm', '--network=none', ...limits, image, ...command)
}

/** Starts a container that has no network but its own loopback. */
export function startContainer(name: string, ...args: readonly string[]): void {
  // Podman complains that it finds no systemd to call the health check; the caller does that.
  const start = ['run', '--detach', '--name', name, '--network=none', ...limits, ...args]
  execFileSync('podman', [...engine, '--log-level=fatal', ...start], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Returns the size of an image in bytes. */
export function sizeOf(image: string): number {
  return Number(podman('image', 'inspect', '--format', '{{.Size}}', image))
}
