/** Browser features that the page uses itself; those that it does not name are off. */
const usedFeatures = ['microphone', 'clipboard-write'] as const
const refusedFeatures = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'midi',
  'payment',
  'picture-in-picture',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
] as const

const permissionsPolicy = [
  ...usedFeatures.map(feature => `${feature}=(self)`),
  ...refusedFeatures.map(feature => `${feature}=()`),
].join(', ')

/**
 * Returns the policy of the page, or of an asset, which has no nonce. Text of agents is shown beside a shell, secrets
 * and a merge button, so no script, picture or request of another origin is let in, and no string becomes markup without
 * the page's one policy for it. The nonce lets in style elements that the page's own scripts make.
 */
export function contentSecurityPolicy(nonce: string | null): string {
  return Object.entries({
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': nonce === null ? "'self'" : `'self' 'nonce-${nonce}'`,
    'style-src-attr': "'unsafe-inline'",
    'img-src': "'self' blob: data:",
    'media-src': "'self' blob:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'worker-src': "'self'",
    'manifest-src': "'self'",
    'frame-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': 'default',
  })
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')
}

/** Returns the headers of the page and its assets, beside the policy and those of caching. @param secure over https */
export const pageHeaders = (secure: boolean): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': permissionsPolicy,
  ...(secure && { 'strict-transport-security': 'max-age=31536000' }),
})
