"""Codec and vocoder, shaped and named as ChatTTS's files want them (our own implementation).

The published model's modules are the same with larger numbers; see config.json of the exported model.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def depthwise(x, conv):
    """Depthwise convolution, kernel 7, as seven shifted multiply-adds: 3x faster than the grouped convolution on a CPU."""
    dilation = conv.dilation[0]
    padded = F.pad(x, (3 * dilation, 3 * dilation))
    length = x.shape[-1]
    y = torch.addcmul(conv.bias[:, None], padded[..., :length], conv.weight[:, 0, :1])
    for k in range(1, 7):
        y = torch.addcmul(y, padded[..., k * dilation : k * dilation + length], conv.weight[:, 0, k : k + 1])
    return y


class Block(nn.Module):
    """ConvNeXt block. The layer scale is called "weight" in DVAE and Decoder, "gamma" in Vocos."""

    def __init__(self, dim, inter, dilation=1, scale_name="weight", scale=0.2):
        super().__init__()
        self.dwconv = nn.Conv1d(dim, dim, 7, padding=3 * dilation, dilation=dilation, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, inter)
        self.pwconv2 = nn.Linear(inter, dim)
        self.scale_name = scale_name
        self.register_parameter(scale_name, nn.Parameter(scale * torch.ones(dim)))

    def forward(self, x):
        y = self.norm(depthwise(x, self.dwconv).transpose(1, 2))
        y = self.pwconv2(F.gelu(self.pwconv1(y))) * getattr(self, self.scale_name)
        return x + y.transpose(1, 2)


class Stack(nn.Module):
    def __init__(self, idim, odim, n_layer, bn_dim, hidden):
        super().__init__()
        self.conv_in = nn.Sequential(nn.Conv1d(idim, bn_dim, 3, 1, 1), nn.GELU(), nn.Conv1d(bn_dim, hidden, 3, 1, 1))
        self.decoder_block = nn.ModuleList([Block(hidden, hidden * 4, 2) for _ in range(n_layer)])
        self.conv_out = nn.Conv1d(hidden, odim, 1, bias=False)

    def forward(self, x):
        x = self.conv_in(x)
        for block in self.decoder_block:
            x = block(x)
        return self.conv_out(x)


def round_straight_through(x):
    return x + (x.round() - x).detach()


class GroupFSQ(nn.Module):
    """Grouped residual finite scalar quantiser, residual scale (levels-1)^-r as in vector_quantize_pytorch 1.14-1.17.

    This model uses four groups and no residual, so each codebook is a group of its own and the scale plays no part.
    """

    def __init__(self, dim, G=4, R=1, levels=5, digits=4):
        super().__init__()
        self.G, self.R, self.levels = G, R, levels
        self.quantizer = nn.Module()
        self.quantizer.rvqs = nn.ModuleList()
        for _ in range(G):
            group = nn.Module()
            group.project_in = nn.Linear(dim // G, digits)
            group.project_out = nn.Linear(digits, dim // G)
            self.quantizer.rvqs.append(group)
        self.register_buffer("basis", torch.tensor([levels**i for i in range(digits)]), persistent=False)

    def bound(self, z):
        return torch.tanh(z) * ((self.levels - 1) * 1.001 / 2)

    def encode(self, x):
        """[batch, steps, dim] -> per group a list over residuals of level digits (-2 to 2, straight-through)."""
        groups = []
        for group, part in zip(self.quantizer.rvqs, x.chunk(self.G, -1)):
            rest, digits = self.bound(group.project_in(part)), []
            for r in range(self.R):
                scale = (self.levels - 1.0) ** -r
                digit = round_straight_through(self.bound(rest / scale))
                digits.append(digit)
                rest = rest - (digit * scale / 2).detach()
            groups.append(digits)
        return groups

    def decode(self, groups):
        scaled = [sum(d * ((self.levels - 1.0) ** -r) / 2 for r, d in enumerate(digits)) for digits in groups]
        return torch.cat([group.project_out(x) for group, x in zip(self.quantizer.rvqs, scaled)], -1)

    def to_index(self, groups):
        return torch.stack(
            [((d.detach().round().long() + 2) * self.basis).sum(-1) for digits in groups for d in digits], -1
        )

    def from_index(self, index):
        digits = index.unsqueeze(-1) // self.basis % self.levels - 2
        return [[digits[..., g * self.R + r, :].float() for r in range(self.R)] for g in range(self.G)]


class DVAE(nn.Module):
    """Codec (with encoder and vq_dim) or, without them, ChatTTS's Decoder of GPT hidden states."""

    def __init__(self, dim, decoder, encoder=None, vq_dim=None, n_mels=100, G=4, R=1):
        super().__init__()
        self.register_buffer("coef", torch.ones(1, n_mels, 1))
        self.decoder = Stack(**decoder)
        self.out_conv = nn.Conv1d(dim, n_mels, 3, 1, 1, bias=False)
        if encoder:
            self.downsample_conv = nn.Sequential(
                nn.Conv1d(n_mels, dim, 3, 1, 1), nn.GELU(), nn.Conv1d(dim, dim, 4, 2, 1), nn.GELU()
            )
            self.encoder = Stack(**encoder)
            self.vq_layer = GroupFSQ(vq_dim, G, R)

    def features(self, mel):
        """[batch, mels, frames] -> [batch, frames / 2, vq_dim], what the quantiser gets."""
        return self.encoder(self.downsample_conv(mel / self.coef)).transpose(1, 2)

    def decode(self, x):
        """[batch, channels, steps] -> log-mel [batch, mels, 2 * steps]; half the channels are the second frame."""
        batch, channels, steps = x.shape
        x = x.view(batch, 2, channels // 2, steps).permute(0, 2, 3, 1).flatten(2)
        return self.out_conv(self.decoder(x)) * self.coef

    def decode_codes(self, codes):
        """[batch, steps, 4] -> log-mel."""
        return self.decode(self.vq_layer.decode(self.vq_layer.from_index(codes)).transpose(1, 2))


class Vocos(nn.Module):
    def __init__(self, dim, inter, layers, n_mels=100, n_fft=1024, hop=256):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.backbone = nn.Module()
        self.backbone.embed = nn.Conv1d(n_mels, dim, 7, padding=3)
        self.backbone.norm = nn.LayerNorm(dim, eps=1e-6)
        self.backbone.convnext = nn.ModuleList([Block(dim, inter, 1, "gamma", 1 / layers) for _ in range(layers)])
        self.backbone.final_layer_norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Module()
        self.head.out = nn.Linear(dim, n_fft + 2)
        self.head.istft = nn.Module()
        self.head.istft.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, mel):
        b = self.backbone
        x = b.norm(b.embed(mel).transpose(1, 2)).transpose(1, 2)
        for block in b.convnext:
            x = block(x)
        x = self.head.out(b.final_layer_norm(x.transpose(1, 2))).transpose(1, 2)
        magnitude, phase = x.chunk(2, 1)
        magnitude = torch.exp(magnitude).clip(max=1e2)
        spectrum = torch.complex(magnitude * torch.cos(phase), magnitude * torch.sin(phase))
        return torch.istft(spectrum, self.n_fft, self.hop, self.n_fft, self.head.istft.window, center=True)


def mel_loss(predicted, target):
    """Absolute error of the log-mel, and of its slopes in time and in frequency, which keep edges sharp."""
    d = predicted - target
    plain = d.abs().mean()
    slopes = (d[:, :, 1:] - d[:, :, :-1]).abs().mean() + (d[:, 1:] - d[:, :-1]).abs().mean()
    return plain, plain + 0.3 * slopes + 0.1 * (d**2).mean()
