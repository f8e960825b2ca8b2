{
  description = "Dense kernel support vector machines, trained exactly at the speed of BLAS";

  inputs.nixpkgs.url = "nixpkgs";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "hinge";
          version = "@version@";
          src = pkgs.fetchurl {
            url = "https://hinge.example.org/hinge-@version@.tar.xz";
            sha256 = "@sha256@";
          };
          nativeBuildInputs = with pkgs; [ meson ninja pkg-config python3 ];
          buildInputs = with pkgs; [ openblas xz zlib ];
          mesonFlags = [
            "-Dtools=enabled"
            "-Dcompat=enabled"
            "-Dexamples=disabled"
            "-Dtest=disabled"
            "-Dbenchmarks=disabled"
            "-Dmpi=disabled"
          ];
          meta = {
            description = "Dense kernel support vector machines, trained exactly at the speed of BLAS";
            homepage = "https://hinge.example.org";
            license = pkgs.lib.licenses.bsd3;
            mainProgram = "hinge";
            platforms = systems;
          };
        };
      });
      checks = each (pkgs: {
        default = pkgs.runCommand "hinge-trains" { nativeBuildInputs = [ self.packages.${pkgs.system}.default ]; } ''
          printf '+1 1:1 2:2\n-1 1:-1 2:-2\n' >data
          hinge train -q data model
          touch $out
        '';
      });
    };
}
