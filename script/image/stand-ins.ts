import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildImage, podman } from './podman.ts'

const root = join(import.meta.dirname, '../..')

/** Paths that Debian's slim images leave out. */
const left = ['doc', 'groff', 'info', 'lintian', 'locale', 'man'].map(name => `/usr/share/${name}/*`)
/** Packages that mmdebstrap takes and Debian's images do not have: the way to a merged /usr, and its Perl. */
const surplus =
  'usrmerge libfile-find-rule-perl libnumber-compare-perl libtext-glob-perl perl perl-modules-5.36 libperl5.36 libgdbm-compat4 libgdbm6'

/** Makes an image like `debian:bookworm-slim` of Debian's packages. */
export function makeBase(name: string, folder: string): void {
  const archive = join(folder, 'base.tar')
  const paths = [...left.map(path => `path-exclude=${path}`), 'path-include=/usr/share/doc/*/copyright']
  execFileSync(
    'mmdebstrap',
    [
      ...['--quiet', '--variant=minbase', '--include=usr-is-merged', ...paths.map(path => `--dpkgopt=${path}`)],
      `--customize-hook=chroot "$1" apt-get purge --yes --quiet --autoremove ${surplus} > "$1/tmp/purge"; rm "$1/tmp/purge"`,
      ...['bookworm', archive],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  podman('import', '--quiet', archive, name)
  rmSync(archive)
}

/**
 * Makes an image like `node:24-bookworm-slim`: Node as its package has it, without OpenSSL's headers for other architectures,
 * and npm. Yarn and Corepack are left out.
 */
export function makeNode(name: string, base: string, folder: string): void {
  const [place = ''] = globSync('node_modules/node-linux-*', { cwd: root })
  for (const part of ['bin', 'include', 'share']) {
    cpSync(join(root, place, part), join(folder, part), { recursive: true })
  }
  const openssl = join(folder, 'include/node/openssl/archs')
  const own = { x64: 'linux-x86_64', arm64: 'linux-aarch64' }[process.arch as 'x64' | 'arm64']
  for (const architecture of globSync('*', { cwd: openssl })) {
    if (architecture !== own) rmSync(join(openssl, architecture), { recursive: true })
  }
  const npm = join(execFileSync('npm', ['root', '--global', '--prefix', '/usr'], { encoding: 'utf8' }).trim(), 'npm')
  cpSync(npm, join(folder, 'lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true })
  const lines = [
    `FROM ${base}`,
    ...['bin', 'include', 'share', 'lib'].map(part => `COPY ${part} /usr/local/${part}`),
    'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
  ]
  const authorities = process.env['NODE_EXTRA_CA_CERTS']
  if (authorities !== undefined) {
    copyFileSync(authorities, join(folder, 'authorities.crt'))
    lines.push('COPY authorities.crt /etc/authorities.crt', 'ENV NODE_EXTRA_CA_CERTS=/etc/authorities.crt')
  }
  writeFileSync(join(folder, 'Containerfile'), `${lines.join('\n')}\n`)
  buildImage(name, folder, '--network=none')
}
