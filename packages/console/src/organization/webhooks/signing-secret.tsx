import { ShownOnce } from '../form-dialog.tsx'
/** The secret of an endpoint, which is shown once. */
export function SigningSecret({ url, secret, onDone }: { url: string; secret: string; onDone: () => void }) {
  return (
    <ShownOnce title="Copy the signing secret now" label={`Secret of ${url}`} value={secret} onDone={onDone}>
      It is shown this once. Your endpoint checks each request with it, so that nobody else can pretend to be Berth.
    </ShownOnce>
  )
}
