/** The first that the header names counts: each also names those it resembles. */
const browsers: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const systems: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const nameIn = (names: typeof browsers, agent: string) => names.find(([sign]) => sign.test(agent))?.[1]

/** Returns the browser and system of a `User-Agent`, such as `Firefox on Linux`. */
export function browserName(agent: string | null): string {
  const [browser, system] = [nameIn(browsers, agent ?? ''), nameIn(systems, agent ?? '')]
  if (browser === undefined && system === undefined) return 'Unknown browser'
  return [browser ?? 'A browser', system].filter(Boolean).join(' on ')
}
