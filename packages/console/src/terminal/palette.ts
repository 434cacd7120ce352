import type { ITheme } from '@xterm/xterm'

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Programs choose among sixteen colours; these are legible on the grounds of both themes. */
const sixteen = {
  light: {
    black: '#15181d',
    red: '#b3261e',
    green: '#0b6b37',
    yellow: '#85500a',
    blue: '#1c5bc4',
    magenta: '#8a3fb0',
    cyan: '#0d6b78',
    white: '#5c6573',
    brightBlack: '#5c6573',
    brightRed: '#c9372d',
    brightGreen: '#1b7f48',
    brightYellow: '#96610f',
    brightBlue: '#2f6fd8',
    brightMagenta: '#9b51c0',
    brightCyan: '#187c8a',
    brightWhite: '#15181d',
  },
  dark: {
    black: '#242a33',
    red: '#ff938a',
    green: '#57d28a',
    yellow: '#eab65a',
    blue: '#8ab4ff',
    magenta: '#d3a4f5',
    cyan: '#6fd3e0',
    white: '#e9ebef',
    brightBlack: '#929ba9',
    brightRed: '#ffb3ac',
    brightGreen: '#82e3aa',
    brightYellow: '#f3cd86',
    brightBlue: '#abcaff',
    brightMagenta: '#e2c2fa',
    brightCyan: '#97e2ec',
    brightWhite: '#ffffff',
  },
} as const satisfies Record<string, ITheme>

/** Returns the colours of the theme that the page has now. */
export function terminalTheme(): ITheme {
  const name = document.documentElement.dataset['theme'] === 'dark' ? 'dark' : 'light'
  return {
    ...sixteen[name],
    background: colour('--canvas'),
    foreground: colour('--ink'),
    cursor: colour('--accent'),
    cursorAccent: colour('--canvas'),
    selectionBackground: colour('--selected'),
    scrollbarSliderBackground: `${colour('--control')}66`,
    scrollbarSliderHoverBackground: `${colour('--control')}99`,
    scrollbarSliderActiveBackground: `${colour('--control')}cc`,
  }
}
