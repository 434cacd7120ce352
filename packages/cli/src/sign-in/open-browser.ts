import { spawn } from 'node:child_process'

/**
 * Opens an address in the person's browser: with `BROWSER`, or else the desktop's opener. Without a desktop it opens
 * nothing, because the opener would start a text browser inside this terminal.
 * @returns whether a program was asked to open it; that program may still fail, and nobody hears of it
 */
export function openBrowser(address: string, env: NodeJS.ProcessEnv): boolean {
  const opener = openerOf(env)
  if (opener === null) return false
  const child = spawn(opener, [address], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return true
}

function openerOf({ BROWSER, DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME }: NodeJS.ProcessEnv): string | null {
  if (BROWSER) return BROWSER
  if (process.platform === 'darwin') return 'open'
  return DISPLAY || WAYLAND_DISPLAY || WSL_DISTRO_NAME ? 'xdg-open' : null
}
