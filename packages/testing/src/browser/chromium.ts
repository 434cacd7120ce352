import { type Browser, chromium } from 'playwright-core'

/** The programs of Debian's Chromium: the shell has no window, and takes less than half of the browser's processor time. */
type Program = 'chromium-headless-shell' | 'chromium'

/**
 * Starts Debian's Chromium without a window, with a profile of its own that is deleted at the end. It reaches no name
 * but `localhost` and those below it, and no address but 127.0.0.1. Close it in `afterAll`.
 *
 * @param more switches beside these
 * @param program the whole browser only for tests of notifications and of PDF: the shell permits none, and shows none
 */
export function launchChromium(
  more: readonly string[] = [],
  program: Program = 'chromium-headless-shell',
): Promise<Browser> {
  return chromium.launch({
    executablePath: `/usr/bin/${program}`,
    // Chromium refuses to start its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-quic',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
      ...more,
    ],
  })
}
