/** Keys and signatures, as those who publish and check know them. */

export interface PublicKey {
  /** As people name it: 16 hexadecimal digits. */
  readonly name: string;
  /** As whoever checks gets it: `RW...`. */
  readonly text: string;
  /** What it says of the text of a signature; null if that is none. */
  readonly check: (content: Uint8Array, signature: string) => CheckedSignature | null;
}

export interface CheckedSignature {
  /** Name of the key that it says made it. */
  readonly keyName: string;
  /** Whether this key made it of this content. */
  readonly isRight: boolean;
}

/** With its public half, as whom it checks. */
export interface SigningKey extends PublicKey {
  /** The text of the content's signature, in which `comment` is signed as well. */
  readonly sign: (content: Uint8Array, comment: string) => string;
}
